"""Writes a small C project with a build.ninja into the current directory."""

import os

parts = range(12)

os.makedirs("src", exist_ok=True)
for i in parts:
    with open(f"src/part{i}.c", "w") as f:
        f.write('#include <stdio.h>\n#include <stdlib.h>\n#include "tables.h"\n')
        for j in range(60 + 40 * i):
            f.write(
                f"double f{i}_{j}(double x){{double s=0;for(int k=0;k<{j + 10};k++)"
                "s+=x*table[k%TABLE_SIZE]/(k+1);return s;}\n"
            )
        f.write(f"double part{i}(double x){{return f{i}_0(x);}}\n")
with open("src/main.c", "w") as f:
    f.write("#include <stdio.h>\n")
    f.writelines(f"double part{i}(double);\n" for i in parts)
    f.write("int main(void){double s=0;")
    f.writelines(f"s+=part{i}(s+1);" for i in parts)
    f.write('printf("%f\\n",s);}\n')
with open("gentables.py", "w") as f:
    f.write(
        "vals = [i * i % 17 for i in range(64)]\n"
        'open("gen/tables.h", "w").write("#define TABLE_SIZE 64\\nextern const double table[64];\\n")\n'
        'open("gen/tables.c", "w").write("const double table[64]={" + ",".join(map(str, vals)) + "};\\n")\n'
    )

objects = " ".join(f"obj/part{i}.o" for i in parts)
with open("build.ninja", "w") as f:
    f.write("""rule gen
  command = mkdir -p gen && python3 $in
  restat = 1
rule cc
  command = gcc -O2 -Igen -MMD -MF $out.d -c $in -o $out
  depfile = $out.d
rule ar
  command = ar rcs $out $in
rule link
  command = gcc -o $out $in
rule run
  command = ./$in > $out

build gen/tables.h gen/tables.c: gen gentables.py
build obj/tables.o: cc gen/tables.c
build obj/main.o: cc src/main.c
""")
    f.writelines(f"build obj/part{i}.o: cc src/part{i}.c || gen/tables.h\n" for i in parts)
    f.write(
        f"build libparts.a: ar obj/tables.o {objects}\n"
        "build calc: link obj/main.o libparts.a\n"
        "build result.txt: run calc\n"
        "default result.txt\n"
    )
