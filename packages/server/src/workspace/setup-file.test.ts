/** Programs whose environment comes from the set-up file, while no runner can be started. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { tempDir } from '../../testing/temp.ts'
import { until } from '../../testing/until.ts'
import { never, openTestWorkspaces } from './workspace.testing.ts'

const MAIN = fileURLToPath(new URL('./runner/main.ts', import.meta.url))
/** A runner on a full disk. */
const FULL = `console.log('{"full":true}')`
/** A runner that fails at once. */
const BROKEN = 'process.exit(1)'

/** A workspace with a set-up file, whose runner is replaced by these programs, one after the other. */
async function openWith(program: string) {
  await using opened = new AsyncDisposableStack()
  const dir = opened.use(await tempDir())
  const [setup, runnerEntry] = [dir.file('setup'), dir.file('runner.mjs')]
  writeFileSync(setup, 'export FROM_SETUP=yes\n')
  writeFileSync(runnerEntry, program)
  let refusals = 0
  const log = { info: () => undefined, warn: () => void (refusals += 1) }
  const shell = { passed: {}, setup }
  const here = opened.use(await openTestWorkspaces({ runnerEntry, shell, log, backoff: { baseMs: 5, maxMs: 20 } }))
  const kept = opened.move()
  return {
    workspace: await here.open(),
    refusals: () => refusals,
    replaceRunner: (next: string) => writeFileSync(runnerEntry, next),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

const PRINT = { argv: ['sh', '-c', 'printf %s "$FROM_SETUP"'] }

test('an aborted program does not wait for the set-up file', async () => {
  await using it = await openWith(FULL)
  const leaving = new AbortController()
  const left = expect(it.workspace.exec(PRINT, leaving.signal)).rejects.toThrow('enough')
  await until(() => it.refusals() > 0)
  leaving.abort(new Error('enough'))
  await left
})

test('a set-up file that could not be read is read again for the next program', async () => {
  await using it = await openWith(BROKEN)
  await expect(it.workspace.exec(PRINT, never)).rejects.toMatchObject({ code: 'unavailable' })
  it.replaceRunner(`await import(${JSON.stringify(MAIN)})`)
  expect(await it.workspace.exec(PRINT, never)).toMatchObject({ exit_code: 0, stdout: 'yes' })
})
