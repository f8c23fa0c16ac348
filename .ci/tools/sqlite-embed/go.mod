module github.com/ncruces/go-sqlite3/embed

go 1.25.0
