import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { tempDir } from '../../testing/temp.ts'
import { until } from '../../testing/until.ts'
import { bundled, bundledWithProtocol, startOther } from './other-runner.testing.ts'
import { openTestWorkspaces, processEnd } from './workspace.testing.ts'

/** The commit of version 0.1.0. */
const RELEASE = '18d0bf8'
const root = fileURLToPath(new URL('../../../../', import.meta.url))
const here = fileURLToPath(new URL('./', import.meta.url))

test('a version with another protocol collects the result of a command that runs in the runner of version 0.1.0', async () => {
  await using sources = await tempDir()
  const archive = execFileSync('git', ['archive', RELEASE, 'packages'], { cwd: root, maxBuffer: 1e9 })
  execFileSync('tar', ['-x', '-C', sources.path], { input: archive })
  const packages = (...names: string[]) => join(sources.path, 'packages', ...names)
  await using released = await bundled({
    // Packages are found from the folder of the bundle.
    logLevel: 'silent',
    input: packages('server', 'src', 'workspace', 'runner', 'main.ts'),
    resolve: { alias: { '@parley/protocol': packages('protocol', 'src', 'index.ts') } },
  })
  await using server = await bundledWithProtocol(5, join(here, 'server.testing.ts'))
  await using runner = await bundledWithProtocol(5)

  await using place = await openTestWorkspaces()
  await using old = await startOther(place.dataDir, 4, released)
  const cwd = place.dir.file('work', 'c1')
  mkdirSync(cwd, { recursive: true })
  const call = {
    callId: 'shell',
    command: 'echo x >>begun; until [ -e go ]; do sleep 0.02; done; seq 5000; (exit 3)',
    isInput: false,
    reset: false,
    timeoutMs: null,
    noChangeMs: 20_000,
  }
  old.send({ op: 'terminal', spec: { ...call, cwd } })
  await until(() => existsSync(join(cwd, 'begun')))
  await old.leave()
  const ask = async () => {
    const args = [server.entry, place.dataDir, cwd, '2', JSON.stringify({ terminal: call }), runner.entry]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    return JSON.parse(await text(child.stdout)) as { output: string }
  }
  const asked = ask()
  await until(() => existsSync(place.dir.file('data', 'runner', 'ledger-p5.ndjson')))
  writeFileSync(join(cwd, 'go'), '')
  const result = await asked
  expect(result).toMatchObject({ outcome: 'exited', exit_code: 3, dropped: 0 })
  expect(result.output).toMatch(/^1\n[^]*\n5000\n$/)
  await processEnd(old.pid)
  await until(() => !existsSync(place.dir.file('data', 'runner', 'ledger.ndjson')))
  expect(await ask()).toEqual(result)
  expect(readFileSync(join(cwd, 'begun'), 'utf8')).toBe('x\n')
}, 120_000)
