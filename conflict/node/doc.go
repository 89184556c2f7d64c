// Package node analyzes JavaScript and TypeScript workspaces straight from git
// objects: npm, yarn and pnpm, with or without Turborepo or Nx. It needs no
// checkout, no node_modules and no Node. It reads manifests, lock files,
// settings and imports, remembers what it has read by object id, and so takes
// milliseconds for the next tree.
//
// # Nodes
//
// Each package of a workspace is a target under the name that the package
// manager takes, and owns all files of its directory but those of packages
// further in:
//
//	run: for t in {targets}; do npm test -w "$t" || exit 1; done
//	run: pnpm $(printf -- '--filter %s ' {targets}) test
//	run: npx turbo run test $(printf -- '--filter=%s ' {targets})
//
// A package without a name, or whose name another one has, is ./its/directory.
// If there is an nx.json, directories with a project.json are packages, too;
// the name of an Nx project that differs is an alias. A package.json that is in
// no workspace is a package of its own where a lock file is beside it or
// nothing is above it, and a fixture of the package that it is in else.
//
// Further nodes, none of them targets: root:., what all packages of a
// workspace depend on, used:., the packages of the workspace that its root
// depends on, and ext:package-lock.json:node_modules/x, one for each external
// package of a lock file.
//
// # The root
//
// The root of a workspace owns nothing. Files beside its package.json that are
// code, JSON, YAML, TOML or begin with a dot (tsconfig.base.json, babel.config.js, .npmrc,
// .nvmrc, turbo.json, nx.json, package.json with its overrides), patches/,
// .yarn/ and submodules that no package owns are in every hash. All else that no package owns follows `unowned`,
// and so is in every hash by default: a script in tools/ may be run by every
// package. Dependencies of the root's package.json are installed where every package finds
// them, so every package depends on them, too. The root is a target only where it asks to be
// one: "." among the packages of pnpm-workspace.yaml, or a project.json. Then it depends on all
// packages and on all files that no package owns. A root without packages is one package.
//
// # Edges
//
//   - dependencies of all four kinds that name a package of the workspace:
//     workspace:, file:, link: and portal:, npm: aliases, catalogs, and ranges
//     that its version satisfies or that cannot be told; and what the lock file
//     links;
//   - imports, of packages that are not declared as well: a scanner takes
//     every string that looks like a specifier, resolves tsconfig paths, paths
//     that leave the package and links; TypeScript's references and extends.
//     Of code that no package owns all beside it counts, and what that imports;
//   - programs that scripts call by name, where npm or yarn install them for all;
//   - turbo.json: pkg#task in dependsOn and with, extends, inputs elsewhere. A
//     task of the root, //#task, is in need of all that no package owns;
//     globalDependencies are in every hash. "^build" follows the edges above;
//   - nx.json and project.json: implicitDependencies, dependsOn, executors,
//     inputs in {workspaceRoot}, paths in options and commands;
//   - a package depends on the packages in directories within its own.
//
// A name that nothing in the workspace has is an edge, too, to a target that
// does not exist: when another change adds it, the two conflict.
//
// # Lock files
//
// package-lock.json (versions 1 to 3), pnpm-lock.yaml (5 to 9) and yarn.lock
// (1 and later) are taken apart: each external package is hashed over its
// entry and those it uses, so that an update reaches the packages that depend
// on it and no others. Settings, overrides and patches in them are in every
// hash of the workspace, as are entries that nobody is seen to use, and types
// (@types/...) that npm, yarn and old pnpm put where each compiler run finds
// them. A
// lock file that cannot be read, or of another version, is in every hash.
//
// # Worked example
//
// packages/ui depends on react 18; apps/web depends on ui and next; apps/api on
// express. Change 1 edits packages/ui/src/button.tsx: Affected = {ui, web}.
// Change 2 updates express in apps/api/package.json and package-lock.json:
// Affected = {api}, so 1 and 2 are independent though both belong to one lock
// file's workspace. Change 3 updates react in the lock file only: Affected =
// {ui, web}, in conflict with 1. Change 4 edits turbo.json: it is All.
//
// # Limits
//
// A package.json of a package that cannot be read, and likewise turbo.json,
// nx.json, project.json and pnpm-workspace.yaml, leave the tree without a
// graph: it is one target until the file is repaired. A tsconfig that cannot
// be read makes its package depend on the whole tree. Paths put together at
// run time, as in path.join(root, name), are not seen: where a package reads
// another one's files so, say it in package.json or turbo.json, or name the
// files in `barrier`.
package node
