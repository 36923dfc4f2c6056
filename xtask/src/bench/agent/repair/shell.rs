//! Repairs in sh.

use super::Repair;

pub(super) const REPAIRS: &[Repair] = &[
    Repair {
        name: "sum-lines",
        language: "sh",
        prompt: "sum.sh must print the sum of the numbers on the lines of the file that it is given. It prints their difference. Repair it.",
        files: &[(
            "sum.sh",
            "total=0\nwhile read -r number; do\n  total=$((total - number))\ndone < \"$1\"\necho \"$total\"\n",
        )],
        test: (
            "hidden.sh",
            "set -e\nprintf '1\\n2\\n39\\n' > /tmp/numbers\ntest \"$(sh sum.sh /tmp/numbers)\" = 42\n",
        ),
        reference: (
            "sum.sh",
            "total=0\nwhile read -r number; do\n  total=$((total + number))\ndone < \"$1\"\necho \"$total\"\n",
        ),
    },
    Repair {
        name: "spaces-in-names",
        language: "sh",
        prompt: "count.sh prints how many lines the files that it is given have together. It fails for names with spaces. Repair it.",
        files: &[("count.sh", "for file in $*; do\n  cat $file\ndone | wc -l | tr -d ' '\n")],
        test: (
            "hidden.sh",
            "set -e\nd=$(mktemp -d)\nprintf 'a\\nb\\n' > \"$d/one two\"\nprintf 'c\\n' > \"$d/three\"\n\
             test \"$(sh count.sh \"$d/one two\" \"$d/three\")\" = 3\n",
        ),
        reference: (
            "count.sh",
            "for file in \"$@\"; do\n  cat \"$file\"\ndone | wc -l | tr -d ' '\n",
        ),
    },
    Repair {
        name: "exit-code",
        language: "sh",
        prompt: "check.sh must end with exit code 1 if a word of its second argument, a file, is the word of its first argument, and \
                 with 0 otherwise. It always ends with 0. Repair it.",
        files: &[(
            "check.sh",
            "if grep -qw -- \"$1\" \"$2\"; then\n  echo \"found $1\"\n  status=1\nfi\nexit 0\n",
        )],
        test: (
            "hidden.sh",
            "echo 'red green' > /tmp/colours\nsh check.sh green /tmp/colours > /dev/null && exit 1\n\
             sh check.sh blue /tmp/colours > /dev/null || exit 1\n",
        ),
        reference: (
            "check.sh",
            "status=0\nif grep -qw -- \"$1\" \"$2\"; then\n  echo \"found $1\"\n  status=1\nfi\nexit \"$status\"\n",
        ),
    },
    Repair {
        name: "backup-name",
        language: "sh",
        prompt: "backup.sh copies the file that it is given to one with .bak behind its name. It overwrites a backup that exists \
                 already; it must leave that as it is and end with exit code 1. Repair it.",
        files: &[("backup.sh", "cp \"$1\" \"$1.bak\"\n")],
        test: (
            "hidden.sh",
            "set -e\nd=$(mktemp -d)\necho new > \"$d/a\"\nsh backup.sh \"$d/a\"\ntest \"$(cat \"$d/a.bak\")\" = new\n\
             echo newer > \"$d/a\"\nif sh backup.sh \"$d/a\"; then exit 1; fi\ntest \"$(cat \"$d/a.bak\")\" = new\n",
        ),
        reference: (
            "backup.sh",
            "if [ -e \"$1.bak\" ]; then\n  exit 1\nfi\ncp \"$1\" \"$1.bak\"\n",
        ),
    },
];
