// Package sql carries the database half of pgbox inside the binary: the goose
// migrations (tables, roles, policies, publication) and the repeatable files
// (functions, views, grants). Package migrate applies them.
package sql

import "embed"

//go:generate go run ./migrate/dump -o schema.sql

// Migrations holds the versioned files, migrations/NNNNN_name.sql.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Repeatables holds functions/*.sql, views/*.sql and grants.sql. One file
// defines one object and is named after it.
//
//go:embed functions/*.sql views/*.sql grants.sql
var Repeatables embed.FS
