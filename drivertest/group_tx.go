package drivertest

func txCases() []testCase { return nil }
