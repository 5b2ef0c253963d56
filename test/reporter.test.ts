import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, expect, test } from 'vitest'
import { finalLine } from './reporter.ts'
import { root } from './source-files.ts'

/** Runs a small project with this reporter; resolves to its last printed line and its facts. */
async function runProject(files: Record<string, string>, ...args: string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'parley-reporter-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const reporters = ['default', [join(root, 'test/reporter.ts'), { folder: join(folder, 'facts') }]]
  const config = `export default { test: { globals: true, reporters: ${JSON.stringify(reporters)} } }`
  const all = Object.entries({ ...files, 'vitest.config.mjs': config })
  await Promise.all(all.map(([name, text]) => writeFile(join(folder, name), text)))
  const output = await new Promise<string>((resolve) => {
    const vitest = join(root, 'node_modules/vitest/vitest.mjs')
    const env = { ...process.env, NO_COLOR: '1', PARLEY_FAILED_CHECKS: '', PARLEY_TEST_REPORT: '' }
    execFile(process.execPath, [vitest, 'run', '--root', folder, ...args], { env }, (_, stdout) => resolve(stdout))
  })
  const facts = await readFile(join(folder, 'facts/facts.json'), 'utf8').catch(() => '{}')
  return {
    lastLine: output.trimEnd().split('\n').at(-1),
    facts: JSON.parse(facts) as { tests?: Record<string, unknown> },
  }
}

const mixed = {
  'a.test.mjs': `test('a', () => {}); test('b', () => { throw new Error('no') }); test.skip('c', () => {})`,
}

test('a test run ends with one plain line and records its figures', async () => {
  const { lastLine, facts } = await runProject(mixed)
  expect(lastLine).toBe('1 passed, 1 failed, 1 skipped')
  expect(facts.tests).toMatchObject({ files: 1, passed: 1, failed: 1, skipped: 1 })
})

test('a test file that cannot be loaded counts as a failure', async () => {
  const { lastLine } = await runProject({ 'a.test.mjs': `test('a', () => {})`, 'b.test.mjs': `throw new Error('no')` })
  expect(lastLine).toBe('1 passed, 1 failed')
})

test('the figures of a selection of tests are not recorded', async () => {
  const { lastLine, facts } = await runProject({ ...mixed, 'b.test.mjs': `test('b', () => {})` }, 'b.test')
  expect(lastLine).toBe('1 passed, 0 failed')
  expect(facts).toEqual({})
})

test('the last line of a test run names skipped tests only when there are some', () => {
  expect(finalLine({ files: 1, passed: 2, failed: 0, skipped: 0 })).toBe('2 passed, 0 failed')
})
