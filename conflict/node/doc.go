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
// A package without a name, or with the name of another package, is
// ./its/directory. If there is an nx.json, directories with a project.json are
// packages, too; the name of an Nx project that differs is an alias. A
// package.json that is in no workspace is a separate package if a lock file is
// beside it or no package is above it. Otherwise it is a fixture of the package
// that it is in.
//
// Further nodes, none of them targets: root:., on which all packages of a
// workspace depend, used:., the packages of the workspace that its root depends
// on, and ext:package-lock.json:node_modules/x, one for each external package
// of a lock file.
//
// # The root
//
// The root of a workspace owns nothing. Files beside its package.json that are code, JSON, YAML,
// TOML or begin with a dot (tsconfig.base.json, babel.config.js, .npmrc, .nvmrc, turbo.json,
// nx.json, package.json with its overrides), patches/, .yarn/ and submodules that no package owns
// are in every hash. All other files that no package owns follow `unowned`, and so are in every
// hash by default: a script in tools/ may be run by every package. Dependencies of the root's
// package.json are installed where every package finds them, so every package depends on them, too.
// The root is a target only if its configuration says so: "." among the packages of
// pnpm-workspace.yaml, or a project.json. Then it depends on all packages and on all files that no
// package owns. A root without packages is one package.
//
// # Edges
//
//   - dependencies of all four kinds that name a package of the workspace:
//     workspace:, file:, link: and portal:, npm: aliases, catalogs, and ranges
//     that its version satisfies or that cannot be told; and packages that the
//     lock file links;
//   - imports, of packages that are not declared as well: a scanner takes every
//     string that looks like a specifier, resolves tsconfig paths, paths that
//     leave the package and links; TypeScript's references and extends. For
//     code that no package owns, all files beside it count, and the files that
//     these import;
//   - programs that scripts call by name, where npm or yarn install them for all;
//   - what settings beside the package.json of the root import (eslint.config.js), for all;
//     and the settings of a package for the packages within its directory;
//   - turbo.json: pkg#task in dependsOn and with, extends, inputs elsewhere. A
//     task of the root, //#task, needs all files that no package owns;
//     globalDependencies are in every hash. "^build" follows the edges above;
//   - nx.json and project.json: implicitDependencies, dependsOn, executors,
//     inputs in {workspaceRoot}, paths in options and commands; no inputs of a task that
//     no package has or waits for, unless plugins may make it;
//   - a package depends on the packages in directories within its own.
//
// A folder of a package that the root's settings name, such as a project of Jest, and that
// is not there, is in every hash of the workspace: the tool may run nothing at all.
//
// A name that no package of the workspace has is an edge, too, to a target that
// does not exist: when another change adds it, the two conflict.
//
// # Lock files
//
// package-lock.json (versions 1 to 3), pnpm-lock.yaml (5 to 9) and yarn.lock (1
// and later) are taken apart: each external package is hashed over its entry
// and the entries of the packages that it uses, so that an update reaches the
// packages that depend on it and no others. Settings, overrides and patches in
// them are in every hash of the workspace, as are entries of which no user is
// seen, and types (@types/...) that npm, yarn and old pnpm put where each
// compiler run finds them. A lock file that cannot be read, or of another
// version, is in every hash.
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
// graph: it is one target until the file is repaired. A tsconfig that cannot be
// read makes its package depend on the whole tree. Paths put together at run
// time, as in path.join(root, name), are not seen, unless they are strings behind one that
// leads up, as in path.join(__dirname, '..', 'ui'): where a package reads
// another package's files in this way, name that package in package.json or
// turbo.json, or name the files in `barrier`.
package node
