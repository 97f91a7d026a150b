package upper
