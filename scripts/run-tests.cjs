'use strict'
/** The checks and the test runs behind `npm test`, `npm run check`, `npm run test:postgres`, `npm run test:campaign` and `npm run test:soak`. */
const childProcess = require('child_process')
const fs = require('fs')
const path = require('path')
const { run } = require('./run-program.cjs')

const root = path.dirname(__dirname)
const at = (...parts) => path.join(root, ...parts)
/** A program of an installed package. */
const tool = (...parts) => at('node_modules', ...parts)
const vitest = tool('vitest', 'vitest.mjs')

/** Tests about the sources themselves: import layers, citations, generated pages. They are part of the checks and of the tests. */
const SOURCE_TESTS = ['layers', 'checks', 'citations', 'configuration-page'].map((name) => `test/${name}.test.ts`)

/** @type {[name: string, args: string[]][]} */
const CHECKS = [
  ['lint', [tool('oxlint', 'bin', 'oxlint'), '--type-aware']],
  ['format', [tool('oxfmt', 'bin', 'oxfmt'), '--check']],
  ['types', [tool('typescript', 'bin', 'tsc'), '-p', at('tsconfig.json')]],
  ['types of the web UI', [tool('typescript', 'bin', 'tsc'), '-p', at('packages', 'web', 'tsconfig.json')]],
  ['unused code', [tool('knip', 'bin', 'knip.js'), '--no-progress']],
  ['generated client routes', [at('scripts', 'client-routes.mjs'), '--check']],
  ['generated configuration page', [at('scripts', 'configuration.mjs'), '--check']],
]
const SOURCE_CHECK = ['layers and citations', [vitest, 'run', '--root', root].concat(SOURCE_TESTS)]

/** Names of the checks that fail. */
function failedChecks(checks, node, env) {
  return checks
    .filter(([name, args]) => {
      process.stdout.write(`\n=== ${name}\n`)
      return (
        childProcess.spawnSync(node, args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] }).status !== 0
      )
    })
    .map(([name]) => name)
}

/** All checks. Resolves to `[code, signal]`. */
function check(node, env) {
  return Promise.resolve([failedChecks(CHECKS.concat([SOURCE_CHECK]), node, env).length > 0 ? 1 : 0, null])
}

const runVitest = (node, args, env) => run(node, [vitest, 'run', '--root', root].concat(args), env)

/** The checks and all tests in their short form; with arguments only the named tests. Resolves to `[code, signal]`. */
function test(node, args, env) {
  // A selection is run many times in a row during work on it; the checks belong to the whole.
  if (args.length > 0) return runVitest(node, args, env)
  return wholeRun(node, env, failedChecks(CHECKS, node, env), 'tests.json')
}

/** The campaigns (`campaign`), or campaigns and soak tests (`soak`), with the budgets of that form. Resolves to `[code, signal]`. */
function longTests(form, node, args, env) {
  const own = Object.assign({}, env, { PARLEY_TEST_FORM: form })
  if (args.length > 0) return runVitest(node, args, own)
  const ending = wholeRun(node, own, [], `${form}.json`)
  return form === 'soak' ? ending.then((first) => postgres(node, [], own).then((then) => worse(first, then))) : ending
}

/** The ending that failed, if one did. */
const worse = (first, second) => (first[0] === 0 ? second : first)

/**
 * The end-to-end tests on a PostgreSQL store, of `test/postgres/files.ts`: on one node, then on three nodes behind a load balancer; with `--short`
 * a selection of both. With `--nodes` on three nodes alone. Named files run on one node, or after `--nodes` on three. Resolves to `[code, signal]`.
 */
function postgres(node, args, env) {
  const isNodes = args.includes('--nodes')
  const suffix = args.includes('--short') ? '-short' : ''
  const named = args.filter((arg) => arg !== '--nodes' && arg !== '--short')
  const onOne = Object.assign({}, env, { PARLEY_TEST_STORE: 'postgres', PARLEY_TEST_SELECTION: `postgres${suffix}` })
  const onThree = Object.assign({}, onOne, { PARLEY_TEST_NODES: '3', PARLEY_TEST_SELECTION: `nodes${suffix}` })
  if (named.length > 0) return runVitest(node, named, isNodes ? onThree : onOne)
  const three = () => wholeRun(node, onThree, [], 'nodes.json')
  if (isNodes) return three()
  return wholeRun(node, onOne, [], 'postgres.json').then((first) => three().then((then) => worse(first, then)))
}

function wholeRun(node, env, failed, reportName) {
  process.stdout.write('\n=== tests\n')
  const report = at('artifacts', reportName)
  fs.rmSync(report, { force: true })
  const own = Object.assign({}, env, { PARLEY_FAILED_CHECKS: failed.join(', '), PARLEY_TEST_REPORT: report })
  return runVitest(node, [], own)
    .then((ending) => (ending[0] === 0 || ending[1] ? ending : inIsolation(node, own, report, ending)))
    .then((ending) => (ending[0] === 0 && failed.length > 0 ? [1, null] : ending))
}

/** More failing files than this are a defect of the code, not of a test. */
const MOST_AGAIN = 8

/**
 * Runs the files with failures once more, one after the other and nothing beside them. A test that fails again is a failure; a test
 * that passes is reported as flaky. Errors outside of any file cannot be repeated.
 */
function inIsolation(node, env, report, ending) {
  if (!fs.existsSync(report)) return ending
  const first = JSON.parse(fs.readFileSync(report, 'utf8'))
  const files = Array.from(new Set(first.failures.map((each) => each.file)))
  if (files.length === 0 || files.length > MOST_AGAIN || first.outside > 0) return ending
  process.stdout.write(`\n=== once more in isolation: ${files.join(', ')}\n`)
  fs.rmSync(report, { force: true })
  return runVitest(node, ['--no-file-parallelism'].concat(files), env).then((again) => {
    const second = fs.existsSync(report) ? JSON.parse(fs.readFileSync(report, 'utf8')) : { failures: first.failures }
    const nameOf = (each) => `${each.file} ${each.name}`
    const failing = new Set(second.failures.map(nameOf))
    const flaky = first.failures.filter((each) => !failing.has(nameOf(each)))
    const passed = first.passed + first.failures.length - second.failures.length
    fs.writeFileSync(report, JSON.stringify({ passed, failures: second.failures, flaky }, null, 2))
    for (const { file, name, why } of flaky) process.stdout.write(`flaky: ${file}: ${name}: ${why.split('\n')[0]}\n`)
    process.stdout.write(`${passed} passed, ${second.failures.length} failed\n`)
    return again
  })
}

module.exports = { check, test, longTests, postgres }
