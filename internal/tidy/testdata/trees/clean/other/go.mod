module example.test/other
