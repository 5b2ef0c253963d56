'use strict'
/**
 * What `npm start`, `npm test`, `npm run demo` and `npm run parley` begin with: install what is missing, find the pinned Node, build
 * what is out of date, and hand over. Old-style JavaScript without dependencies, because it must run, or at least say
 * what is wrong, on whatever Node is there (12 or later) and before anything is installed.
 */
const childProcess = require('child_process')
const fs = require('fs')
const path = require('path')

const root = path.dirname(__dirname)
const at = (...parts) => path.join(root, ...parts)
/** Milliseconds; 0 for a file that is not there. */
const modifiedAt = (file) => (fs.existsSync(file) ? fs.statSync(file).mtimeMs : 0)
const say = (line) => process.stderr.write(`parley: ${line}\n`)

/** The oldest Node that runs Parley, for platforms that have no pinned one. */
const FLOOR = 24

class Refusal extends Error {}

function installIfNeeded() {
  // npm writes this file last, so a broken installation counts as none.
  const installedAt = modifiedAt(at('node_modules', '.package-lock.json'))
  if (installedAt >= modifiedAt(at('package-lock.json')) && installedAt > 0) return
  say(installedAt > 0 ? 'package-lock.json has changed, installing (npm ci) …' : 'first run, installing (npm ci) …')
  // Without our own bin folder in the PATH: npm is about to delete it, with the Node inside.
  const { status, error } = childProcess.spawnSync('npm', ['ci', '--include=dev', '--include=optional'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: Object.assign({}, process.env, { PATH: outsidePath() }),
    shell: process.platform === 'win32',
  })
  if (error && error.code === 'ENOENT')
    throw new Refusal('npm is not in the PATH; install Node 20 or later, which brings it')
  if (status !== 0)
    throw new Refusal('npm ci failed; its own words are above. It needs Node 20 or later and a package registry')
  const now = new Date()
  fs.utimesSync(at('node_modules', '.package-lock.json'), now, now)
}

/** The PATH of the person who called: without what npm puts in front of it for the time of a script. */
function outsidePath() {
  const isOurs = (dir) => /node_modules[\\/]\.bin[\\/]?$|node-gyp-bin[\\/]?$/.test(dir)
  return (process.env.PATH || '')
    .split(path.delimiter)
    .filter((dir) => !isOurs(dir))
    .join(path.delimiter)
}

/** The Node that runs everything: the pinned one where its platform has one, otherwise the one that runs this, if it can. */
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

/** The newest change below a folder; folders count too, because a deletion changes only them. Tests do not. */
function newestChange(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).reduce((newest, entry) => {
    if (entry.name === 'node_modules' || entry.name.endsWith('.test.ts')) return newest
    const full = path.join(folder, entry.name)
    return Math.max(newest, entry.isDirectory() ? newestChange(full) : fs.statSync(full).mtimeMs)
  }, fs.statSync(folder).mtimeMs)
}

function buildIfNeeded(node) {
  // The build dates this file with the moment it began, so a change made meanwhile is seen.
  const builtAt = modifiedAt(at('dist', 'parley.js'))
  const recipe = ['package-lock.json', 'rolldown.config.ts', path.join('scripts', 'build.mjs')].map((file) =>
    modifiedAt(at(file)),
  )
  const sources = fs
    .readdirSync(at('packages'))
    .map((name) => at('packages', name, 'src'))
    .filter((folder) => fs.existsSync(folder))
    .map(newestChange)
  if (builtAt >= Math.max(...recipe, ...sources)) return
  say(builtAt > 0 ? 'sources have changed, building …' : 'building …')
  const { status } = childProcess.spawnSync(node, [at('scripts', 'build.mjs')], { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Refusal('the build failed; its own words are above. Try: npm run build')
}

/** Hands over to `args`, with nothing of ours left between: the signals and the exit code are the program's own. */
function become(node, args, env) {
  // Only the very Node that runs this is known to start: a replaced process could not say that it did not.
  if (process.execve && fs.realpathSync(process.execPath) === node) process.execve(node, [node].concat(args), env)
  return run(node, args, env).then(endLike)
}

/** Runs a program to its end and passes our signals on. Resolves to `[code, signal]`. */
function run(node, args, env) {
  return new Promise((resolve, reject) => {
    const child = childProcess.spawn(node, args, { stdio: 'inherit', env })
    const pass = (signal) => {
      // Ctrl-C reaches the whole foreground group; passing it on would make two of it.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    }
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
    for (const signal of signals) process.on(signal, pass)
    child.on('error', (error) =>
      reject(
        new Refusal(
          `${node} does not start (${error.message}); install Node ${FLOOR} or later and run: npm ci --omit=optional`,
        ),
      ),
    )
    child.on('exit', (code, signal) => {
      for (const each of signals) process.off(each, pass)
      resolve([code, signal])
    })
  })
}

function endLike(ending) {
  if (ending[1]) process.kill(process.pid, ending[1])
  else process.exitCode = ending[0]
}

/** A program that came with the installation. */
const tool = (...parts) => at('node_modules', ...parts)
/** @type {[name: string, args: string[]][]} */
const checks = [
  ['lint', [tool('oxlint', 'bin', 'oxlint'), '--type-aware']],
  ['format', [tool('oxfmt', 'bin', 'oxfmt'), '--check']],
  ['types', [tool('typescript', 'bin', 'tsc'), '-p', at('tsconfig.json')]],
]

/** Names of the checks that fail. */
function failedChecks(node, env) {
  return checks
    .filter(([name, args]) => {
      process.stdout.write(`\n=== ${name}\n`)
      return (
        childProcess.spawnSync(node, args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] }).status !== 0
      )
    })
    .map(([name]) => name)
}

/** More broken files than this are no accident of a busy machine. */
const MOST_AGAIN = 8

function vitest(node, args, env) {
  return run(node, [tool('vitest', 'vitest.mjs'), 'run', '--root', root].concat(args), env)
}

function test(node, args, env) {
  // A selection of tests is run many times in a row by someone who works on it; the checks belong to the whole.
  if (args.length > 0) return vitest(node, args, env).then(endLike)
  const failed = failedChecks(node, env)
  process.stdout.write('\n=== tests\n')
  const report = at('artifacts', 'tests.json')
  fs.rmSync(report, { force: true })
  const own = Object.assign({}, env, { PARLEY_FAILED_CHECKS: failed.join(', '), PARLEY_TEST_REPORT: report })
  return vitest(node, [], own)
    .then((ending) => (ending[0] === 0 || ending[1] ? ending : alone(node, own, report, ending)))
    .then((ending) => endLike(ending[0] === 0 && failed.length > 0 ? [1, null] : ending))
}

/**
 * Runs the files in which something failed once more, one after the other, with nothing beside them: a test that fails then too is
 * broken, one that holds is named as unsteady. Errors outside of any file can't be looked at again.
 */
function alone(node, env, report, ending) {
  if (!fs.existsSync(report)) return ending
  const first = JSON.parse(fs.readFileSync(report, 'utf8'))
  const files = Array.from(new Set(first.failures.map((each) => each.file)))
  if (files.length === 0 || files.length > MOST_AGAIN || first.outside > 0) return ending
  process.stdout.write(`\n=== once more, alone: ${files.join(', ')}\n`)
  fs.rmSync(report, { force: true })
  return vitest(node, ['--no-file-parallelism'].concat(files), env).then((again) => {
    const second = fs.existsSync(report) ? JSON.parse(fs.readFileSync(report, 'utf8')) : { failures: first.failures }
    const still = new Set(second.failures.map((each) => `${each.file} ${each.name}`))
    const unsteady = first.failures.filter((each) => !still.has(`${each.file} ${each.name}`))
    const passed = first.passed + first.failures.length - second.failures.length
    fs.writeFileSync(report, JSON.stringify({ passed, failures: second.failures, unsteady }, null, 2))
    for (const { file, name, why } of unsteady)
      process.stdout.write(`unsteady: ${file}: ${name}: ${why.split('\n')[0]}\n`)
    process.stdout.write(`${passed} passed, ${second.failures.length} failed\n`)
    return again
  })
}

function main(command, args) {
  installIfNeeded()
  const node = findNode()
  const PATH = outsidePath()
  // What the server starts for an agent finds the tools of the person who started the server, not ours.
  const outside = Object.assign({}, process.env, { PATH })
  const inside = Object.assign({}, process.env, {
    PATH: [path.dirname(node), at('node_modules', '.bin'), PATH].join(path.delimiter),
  })
  if (command === 'test') return test(node, args, inside)
  if (command === 'check') {
    process.exitCode = failedChecks(node, inside).length > 0 ? 1 : 0
    return undefined
  }
  const entry = { start: ['serve'], demo: ['demo'], parley: [] }[command]
  if (entry === undefined)
    throw new Refusal(`there is no command "${command}"; known are start, demo, parley, test and check`)
  buildIfNeeded(node)
  // npm runs a script in the root of the project; a relative path on the command line means the folder of the caller.
  if (process.env.INIT_CWD && process.cwd() === root) process.chdir(process.env.INIT_CWD)
  return become(node, [at('dist', 'parley.js')].concat(entry, args), outside)
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
