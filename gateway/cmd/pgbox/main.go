// Command pgbox serves bash sandboxes whose filesystem lives in Postgres.
package main

func main() {}
