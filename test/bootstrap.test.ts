import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { onTestFinished, expect, test } from 'vitest'
import { root } from './source-files.ts'

const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
const pinned = `node-${platform}`

/** Prints its arguments and PATH, waits for a signal with `--wait`, and ends with 7. */
const program = `
  if (process.argv.includes('--wait')) process.on('SIGTERM', () => process.exit(9)) && setInterval(() => {}, 1000)
  console.log(JSON.stringify({ args: process.argv.slice(2), path: process.env.PATH }))
  process.exitCode = 7`

/** A small working copy: installed, pinned to the Node of this test, and built. */
async function workingCopy(files: Record<string, string> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bootstrap-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const version = process.versions.node
  const all = {
    'package-lock.json': '{}',
    'package.json': JSON.stringify({ optionalDependencies: { [pinned]: version } }),
    [`node_modules/${pinned}/package.json`]: JSON.stringify({ version }),
    'node_modules/.package-lock.json': '{}',
    'rolldown.config.ts': '',
    'packages/cli/src/main.ts': '',
    'scripts/build.mjs': `import { writeFileSync } from 'node:fs'; writeFileSync('dist/parley.js', 'console.log("built anew")')`,
    'dist/parley.js': program,
    ...files,
  }
  for (const [name, content] of Object.entries(all)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), content)
  }
  await mkdir(join(folder, `node_modules/${pinned}/bin`))
  await symlink(process.execPath, join(folder, `node_modules/${pinned}/bin/node`))
  for (const name of ['bootstrap.cjs', 'run-program.cjs', 'run-tests.cjs'])
    await copyFile(join(root, 'scripts', name), join(folder, 'scripts', name))
  const soon = Date.now() / 1000 + 30
  await utimes(join(folder, 'dist/parley.js'), soon, soon)
  return folder
}

function start(folder: string, ...args: string[]): ChildProcess & { printed: Promise<[out: string, err: string]> } {
  const env = { ...process.env, PATH: `${join(folder, 'node_modules/.bin')}:/usr/bin:/bin` }
  const child = spawn(process.execPath, [join(folder, 'scripts/bootstrap.cjs'), ...args], { cwd: folder, env })
  return Object.assign(child, { printed: Promise.all([text(child.stdout), text(child.stderr)]) })
}

async function run(folder: string, ...args: string[]) {
  const child = start(folder, ...args)
  const [[code], [out, err]] = await Promise.all([once(child, 'exit'), child.printed])
  return { code: code as number, out, err }
}

test('npm start passes arguments and exit code through, and keeps installed tools out of the PATH', async () => {
  const { code, out, err } = await run(await workingCopy(), 'start', '--port', '0')
  expect(JSON.parse(out)).toEqual({ args: ['serve', '--port', '0'], path: '/usr/bin:/bin' })
  expect({ code, err }).toEqual({ code: 7, err: '' })
})

test('npm run demo runs the demo command, and npm run parley any command', async () => {
  const folder = await workingCopy()
  expect(JSON.parse((await run(folder, 'demo')).out)).toMatchObject({ args: ['demo'] })
  expect(JSON.parse((await run(folder, 'parley', 'tail', 'x')).out)).toMatchObject({ args: ['tail', 'x'] })
})

test('a signal to the bootstrap reaches the program, whose exit code becomes its own', async () => {
  const child = start(await workingCopy(), 'start', '--wait')
  await once(child.stdout!, 'data')
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([9, null])
})

test('a bundle that is missing or older than a source is built first', async () => {
  const folder = await workingCopy()
  await utimes(join(folder, 'dist/parley.js'), 1000, 1000)
  expect(await run(folder, 'start')).toEqual({
    code: 0,
    out: 'built anew\n',
    err: 'parley: sources have changed, building …\n',
  })
  expect((await run(folder, 'start')).err).toBe('')
  await rm(join(folder, 'dist/parley.js'))
  expect((await run(folder, 'start')).err).toBe('parley: building …\n')
})

test('a page of the web UI that is newer than the bundle is built first', async () => {
  const folder = await workingCopy({ 'packages/web/index.html': '' })
  const later = Date.now() / 1000 + 60
  await utimes(join(folder, 'packages/web/index.html'), later, later)
  expect((await run(folder, 'start')).err).toBe('parley: sources have changed, building …\n')
})

test('a test that is newer than the bundle builds nothing', async () => {
  const folder = await workingCopy({ 'packages/cli/src/main.test.ts': '' })
  const later = Date.now() / 1000 + 60
  await utimes(join(folder, 'packages/cli/src/main.test.ts'), later, later)
  expect((await run(folder, 'start')).err).toBe('')
})

test('a failed build is reported, and nothing starts', async () => {
  const folder = await workingCopy({ 'scripts/build.mjs': `throw new Error('no such module')` })
  await rm(join(folder, 'dist/parley.js'))
  const { code, out, err } = await run(folder, 'start')
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toContain('no such module')
  expect(err).toContain('parley: the build failed')
})

test('an installed Node other than the pinned one is refused with the command that repairs it', async () => {
  const folder = await workingCopy({ 'package.json': JSON.stringify({ optionalDependencies: { [pinned]: '99.1.2' } }) })
  const { code, err } = await run(folder, 'start')
  expect(err).toBe(`parley: node_modules holds Node ${process.versions.node}, but Node 99.1.2 is pinned; run: npm ci\n`)
  expect(code).toBe(1)
})

test('a Node that is new enough runs everything where the pinned one was left out', async () => {
  const folder = await workingCopy()
  await rm(join(folder, 'node_modules', pinned), { recursive: true })
  expect((await run(folder, 'start')).code).toBe(7)
})

test('missing dependencies are installed with the optional packages by the npm in the PATH of the caller', async () => {
  const folder = await workingCopy()
  const npm = `#!/bin/sh\necho "npm $*" > asked; touch node_modules/.package-lock.json; echo installing\n`
  await mkdir(join(folder, 'bin'))
  await writeFile(join(folder, 'bin/npm'), npm, { mode: 0o755 })
  await rm(join(folder, 'node_modules/.package-lock.json'))
  const env = { ...process.env, PATH: `${join(folder, 'bin')}:/usr/bin:/bin` }
  const child = spawn(process.execPath, [join(folder, 'scripts/bootstrap.cjs'), 'start'], { env, stdio: 'ignore' })
  expect(await once(child, 'exit')).toEqual([7, null])
  expect(await readFile(join(folder, 'asked'), 'utf8')).toBe('npm ci --include=dev --include=optional\n')
})

test('an unknown bootstrap command is refused with the list of known ones', async () => {
  expect(await run(await workingCopy(), 'sart')).toEqual({
    code: 1,
    out: '',
    err: 'parley: there is no command "sart"; known are start, demo, parley, test, campaign, soak, postgres, check, script\n',
  })
})

/** Checks that find nothing. */
const checks = {
  'node_modules/oxlint/bin/oxlint': '',
  'node_modules/oxfmt/bin/oxfmt': '',
  'node_modules/typescript/bin/tsc': '',
  'node_modules/knip/bin/knip.js': '',
  'scripts/client-routes.mjs': '',
  'scripts/configuration.mjs': '',
}
/** A test runner that prints its arguments and reports that `b` fails: always, or only beside other files. */
const runner = (isDefect: boolean) => `
  import { mkdirSync, writeFileSync } from 'node:fs'
  const args = process.argv.slice(2)
  const isAlone = args.includes('--no-file-parallelism')
  console.log('run: ' + args.slice(3).join(' '))
  const failures = isAlone && ${!isDefect} ? [] : [{ file: 'b.test.ts', name: 'b', why: 'too late' }]
  mkdirSync('artifacts', { recursive: true })
  writeFileSync(process.env.PARLEY_TEST_REPORT, JSON.stringify({ passed: isAlone ? 3 : 9, outside: 0, failures }))
  process.exitCode = failures.length`

test('a failed test is run once more in isolation, and reported as flaky when it passes then', async () => {
  const folder = await workingCopy({ ...checks, 'node_modules/vitest/vitest.mjs': runner(false) })
  const { code, out } = await run(folder, 'test')
  expect(code).toBe(0)
  expect(out).toContain('run: --no-file-parallelism b.test.ts\n')
  expect(out.trimEnd().split('\n').slice(-2)).toEqual(['flaky: b.test.ts: b: too late', '10 passed, 0 failed'])
})

test('a test that fails again in isolation is a failure', async () => {
  const folder = await workingCopy({ ...checks, 'node_modules/vitest/vitest.mjs': runner(true) })
  const { code, out } = await run(folder, 'test')
  expect(code).toBe(1)
  expect(out.trimEnd().split('\n').at(-1)).toBe('9 passed, 1 failed')
})
