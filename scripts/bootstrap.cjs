'use strict'
/**
 * Entry of the npm commands: installs missing dependencies, finds the pinned Node, builds outdated bundles, and runs the command.
 * Old-style JavaScript without dependencies, because it must run, or at least report what is wrong, on any Node from 12 on and
 * before anything is installed.
 */
const childProcess = require('child_process')
const fs = require('fs')
const path = require('path')
const { Refusal, run } = require('./run-program.cjs')

const root = path.dirname(__dirname)
const at = (...parts) => path.join(root, ...parts)
/** Milliseconds; 0 for a missing file. */
const modifiedAt = (file) => (fs.existsSync(file) ? fs.statSync(file).mtimeMs : 0)
const say = (line) => process.stderr.write(`parley: ${line}\n`)

/** The oldest Node that runs Parley, for platforms without a pinned one. */
const FLOOR = 24

function installIfNeeded() {
  // npm writes this file last, so an incomplete installation has none.
  const installedAt = modifiedAt(at('node_modules', '.package-lock.json'))
  if (installedAt >= modifiedAt(at('package-lock.json')) && installedAt > 0) return
  say(installedAt > 0 ? 'package-lock.json has changed, installing (npm ci) …' : 'first run, installing (npm ci) …')
  // The PATH without our own bin folder: npm deletes that folder, and the Node in it.
  const { status, error } = childProcess.spawnSync('npm', ['ci', '--include=dev', '--include=optional'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: Object.assign({}, process.env, { PATH: outsidePath() }),
    shell: process.platform === 'win32',
  })
  if (error && error.code === 'ENOENT')
    throw new Refusal('npm is not in the PATH; install Node 20 or later, which includes it')
  if (status !== 0)
    throw new Refusal('npm ci failed; its output is above. It needs Node 20 or later and a package registry')
  const now = new Date()
  fs.utimesSync(at('node_modules', '.package-lock.json'), now, now)
}

/** The PATH of the caller, without the folders that npm adds for a script. */
function outsidePath() {
  const isOurs = (dir) => /node_modules[\\/]\.bin[\\/]?$|node-gyp-bin[\\/]?$/.test(dir)
  return (process.env.PATH || '')
    .split(path.delimiter)
    .filter((dir) => !isOurs(dir))
    .join(path.delimiter)
}

/** The Node that runs everything: the pinned one where its platform has one, otherwise this one if it is new enough. */
function findNode() {
  const pinned = JSON.parse(fs.readFileSync(at('package.json'), 'utf8')).optionalDependencies || {}
  const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const name = Object.keys(pinned).find((each) => each === `node-${platform}` || each === `node-bin-${platform}`)
  const folder = name && at('node_modules', name)
  if (folder && fs.existsSync(folder)) {
    const { version } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'))
    if (version === pinned[name])
      return fs.realpathSync(path.join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node'))
    throw new Refusal(`node_modules holds Node ${version}, but Node ${pinned[name]} is pinned; run: npm ci`)
  }
  if (Number.parseInt(process.versions.node, 10) >= FLOOR) return process.execPath
  throw new Refusal(
    name
      ? `Node ${pinned[name]} is pinned but was left out of the installation, and this is Node ${process.versions.node}; run: npm ci --include=optional`
      : `no Node is pinned for ${platform}, and this is Node ${process.versions.node}; install Node ${FLOOR} or later from https://nodejs.org`,
  )
}

/** The newest change below a folder. Folders count, because a deletion changes only them; tests do not count. */
function newestChange(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).reduce((newest, entry) => {
    if (entry.name === 'node_modules' || entry.name.endsWith('.test.ts')) return newest
    const full = path.join(folder, entry.name)
    return Math.max(newest, entry.isDirectory() ? newestChange(full) : fs.statSync(full).mtimeMs)
  }, fs.statSync(folder).mtimeMs)
}

/** Files beside the sources that a build depends on. */
const RECIPE = [
  'package-lock.json',
  'rolldown.config.ts',
  'scripts/build.mjs',
  'scripts/web-files.ts',
  'packages/web/index.html',
  'packages/web/vite.config.ts',
]

function buildIfNeeded(node) {
  // The build dates this file with its own beginning, so a change during the build is noticed.
  const builtAt = modifiedAt(at('dist', 'parley.js'))
  const recipe = RECIPE.map((file) => modifiedAt(at(file)))
  const sources = fs
    .readdirSync(at('packages'))
    .map((name) => at('packages', name, 'src'))
    .filter((folder) => fs.existsSync(folder))
    .map(newestChange)
  if (builtAt >= Math.max(...recipe, ...sources)) return
  say(builtAt > 0 ? 'sources have changed, building …' : 'building …')
  const { status } = childProcess.spawnSync(node, [at('scripts', 'build.mjs')], { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Refusal('the build failed; its output is above. Try: npm run build')
}

/** Becomes the program: signals and the exit code are its own. */
function become(node, args, env) {
  // Only the Node that runs this is known to start: a replaced process could not report a failure.
  if (process.execve && fs.realpathSync(process.execPath) === node) process.execve(node, [node].concat(args), env)
  return run(node, args, env).then(endLike)
}

/** Ends this process with the code or the signal that ended a program. */
function endLike(ending) {
  if (ending[1]) process.kill(process.pid, ending[1])
  else process.exitCode = ending[0]
}

/** Commands that work on the sources. Each resolves to `[code, signal]`. */
const SOURCE_COMMANDS = {
  test: (node, args, env) => require('./run-tests.cjs').test(node, args, env),
  campaign: (node, args, env) => require('./run-tests.cjs').longTests('campaign', node, args, env),
  soak: (node, args, env) => require('./run-tests.cjs').longTests('soak', node, args, env),
  postgres: (node, args, env) => require('./run-tests.cjs').postgres(node, args, env),
  check: (node, _args, env) => require('./run-tests.cjs').check(node, env),
  script: (node, args, env) => run(node, args, env),
}
/** Commands of the bundle, by the first arguments of `parley`. */
const BUNDLE_COMMANDS = { start: ['serve'], demo: ['demo'], parley: [] }

function main(command, args) {
  installIfNeeded()
  const node = findNode()
  const PATH = outsidePath()
  if (Object.prototype.hasOwnProperty.call(SOURCE_COMMANDS, command)) {
    const inside = [path.dirname(node), at('node_modules', '.bin'), PATH].join(path.delimiter)
    return SOURCE_COMMANDS[command](node, args, Object.assign({}, process.env, { PATH: inside })).then(endLike)
  }
  const entry = BUNDLE_COMMANDS[command]
  if (entry === undefined) {
    const known = Object.keys(BUNDLE_COMMANDS).concat(Object.keys(SOURCE_COMMANDS)).join(', ')
    throw new Refusal(`there is no command "${command}"; known are ${known}`)
  }
  buildIfNeeded(node)
  // npm runs a script in the root of the project; a relative path on the command line means the folder of the caller.
  if (process.env.INIT_CWD && process.cwd() === root) process.chdir(process.env.INIT_CWD)
  // Programs that the server starts find the tools of the caller, not ours.
  return become(node, [at('dist', 'parley.js')].concat(entry, args), Object.assign({}, process.env, { PATH }))
}

function refuse(error) {
  if (!(error instanceof Refusal)) throw error
  say(error.message)
  process.exitCode = 1
}

try {
  Promise.resolve(main(process.argv[2], process.argv.slice(3))).catch(refuse)
} catch (error) {
  refuse(error)
}
