package drivertest

func adminCases() []testCase { return nil }
