package drivertest

func coordinateCases() []testCase { return nil }
