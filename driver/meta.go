package driver

// CheckMeta checks meta keys and values: keys are not empty, and both are valid UTF-8 without NUL bytes. Stores call it in
// SetMeta; CheckInsert and CheckBatch include it. The error wraps ErrInvalid.
func CheckMeta(meta map[string]string) error { return checkMeta(meta) }
