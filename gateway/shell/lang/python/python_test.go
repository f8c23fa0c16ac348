package python_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/pgbox/pgbox/gateway/machine"
	"github.com/pgbox/pgbox/gateway/machine/machinetest"
	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

func TestMain(m *testing.M) {
	machinetest.Entry()
	os.Exit(m.Run())
}

// newBase is a base tree whose scripts have machines.
func newBase(t testing.TB, cfg machine.Config) *casetest.Base {
	t.Helper()
	pool := machinetest.Pool(t, cfg)
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	base.Machines = func(ctx context.Context, program string) (proc.Machine, error) {
		return pool.Get(ctx, "somebody", program)
	}
	return base
}

// What programs do here is what the python3 of this machine does.
func TestCases(t *testing.T) {
	base := newBase(t, machine.Config{PerOwner: 16, Queue: 1024})
	casetest.ReplayOn(t, func(casetest.Case) bool { return true }, base.Run, "testdata/*.cases")
}

func TestCasesOnTheRealPython(t *testing.T) {
	casetest.ReplayOracle(t, func(casetest.Case) bool { return true }, "testdata/python.cases")
}

// Without machines the command says what is missing, and the rest of the script goes on.
func TestNotInstalled(t *testing.T) {
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	r := base.Run(t.Context(), casetest.Case{Script: "python3 -c 1; echo $?; command -v python3; pip list; echo $?"})
	want := "python3: not available: this server has no python; `pgbox runtimes install` on it installs it\n"
	if r.Stdout != "127\n/usr/bin/python3\n127\n" || r.Stderr != want+strings.Replace(want, "python3:", "pip:", 1) {
		t.Errorf("%q %q", r.Stdout, r.Stderr)
	}
}

// pip installs wheels that are files, into the user's packages, and refuses the rest clearly.
func TestPip(t *testing.T) {
	base := newBase(t, machine.Config{})
	r := base.Run(t.Context(), casetest.Case{Script: `cat > make.py <<'E'
import zipfile
def wheel(name, **more):
    with zipfile.ZipFile(name, "w") as z:
        z.writestr("demo/__init__.py", "VERSION = %r\ndef main(): print('demo', VERSION)\n" % name.split("-")[1])
        info = "-".join(name.split("-")[:2]) + ".dist-info/"
        z.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: %s\nSummary: shows\n" % name.split("-")[1])
        z.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(info + "entry_points.txt", "[console_scripts]\ndemo = demo:main\n")
        z.writestr(info + "RECORD", "")
        for n, d in more.items(): z.writestr(n, d)
wheel("demo-1.0-py3-none-any.whl"); wheel("demo-2.0-py3-none-any.whl"); wheel("demo-3.0-cp312-cp312-manylinux_2_17_x86_64.whl")
wheel("evil-1.0-py3-none-any.whl", **{"../../../../evil": "x"})
E
python3 make.py; pip install ./demo-1.0-py3-none-any.whl; pip install ./demo-1.0-py3-none-any.whl; python3 -m pip install -q demo-2.0-py3-none-any.whl; pip list; pip freeze
~/.local/bin/demo; cd /tmp; python3 -c 'import demo; print(demo.__file__, demo.VERSION)'; python3 -s -c 'import demo'; cd - > /dev/null
pip install demo-3.0-cp312-cp312-manylinux_2_17_x86_64.whl; echo $?; pip install requests; echo $?; pip install demo; pip install evil-1.0-py3-none-any.whl; echo $?; ls -A ~ | sort | tr '\n' ' '; pip uninstall -y demo; pip list; find ~/.local -type f; pip3 --version | cut -d' ' -f1`})
	wantOut := `Processing ./demo-1.0-py3-none-any.whl
Installing collected packages: demo
Successfully installed demo-1.0
Processing ./demo-1.0-py3-none-any.whl
demo is already installed with the same version as the provided wheel.
Package Version
------- -------
demo    2.0
demo==2.0
demo 2.0
/home/user/.local/lib/python3.12/site-packages/demo/__init__.py 2.0
Processing demo-3.0-cp312-cp312-manylinux_2_17_x86_64.whl
1
1
Requirement already satisfied: demo in /home/user/.local/lib/python3.12/site-packages (2.0)
Processing evil-1.0-py3-none-any.whl
1
.local demo-1.0-py3-none-any.whl demo-2.0-py3-none-any.whl demo-3.0-cp312-cp312-manylinux_2_17_x86_64.whl evil-1.0-py3-none-any.whl make.py ` + `Found existing installation: demo 2.0
  Successfully uninstalled demo-2.0
pip
`
	wantErr := `Traceback (most recent call last):
  File "<string>", line 1, in <module>
ModuleNotFoundError: No module named 'demo'
ERROR: demo-3.0-cp312-cp312-manylinux_2_17_x86_64.whl is not a supported wheel on this platform: this Python has no C extensions.
ERROR: Could not find a version that satisfies the requirement requests (from versions: none)
ERROR: No matching distribution found for requests: there is no network; wheels that are files of the sandbox can be installed
ERROR: ../../../../evil is not below the directory to install to.
`
	if r.Stdout != wantOut || r.Stderr != wantErr || r.Err != nil {
		t.Errorf("%v\n%s\n%s", r.Err, r.Stdout, r.Stderr)
	}
}
