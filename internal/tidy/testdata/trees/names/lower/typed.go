package lower
