package migrate

// CheckOptions is Check of a binary that carries other files.
var CheckOptions = check
