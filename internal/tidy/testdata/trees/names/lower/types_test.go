package lower // want: name
