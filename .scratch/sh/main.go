package main
import ("context";"fmt";"os";"io"
"github.com/pgbox/pgbox/gateway/shell/casetest";"github.com/pgbox/pgbox/gateway/shell/command";"github.com/pgbox/pgbox/gateway/shell/proc";"github.com/pgbox/pgbox/gateway/shell")
func main(){ b,err:=casetest.NewBase(command.All()); if err!=nil{panic(err)}
 ctx,bud:=proc.NewBudget(context.Background(),proc.Limits{})
 script := ""
 if len(os.Args)>1 { script=os.Args[1] } else { d,_:=io.ReadAll(os.Stdin); script=string(d) }
 r,err:=shell.Run(ctx,shell.Config{FS:b.Sandbox(ctx),Commands:command.All(),State:shell.State{Dir:casetest.Home,Env:casetest.Env(casetest.Home)},Budget:bud,Stdout:os.Stdout,Stderr:os.Stderr},script)
 if err!=nil{fmt.Fprintln(os.Stderr,"ERR",err)}
 os.Exit(r.ExitCode)}
