import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Parley, processesOf, run, startServer, temporaryFolder } from '../testing/parley.ts'
import { until } from '../../../server/testing/until.ts'

async function project(folder: string, answers: unknown[]) {
  const cwd = join(folder, 'work')
  await mkdir(cwd)
  const script = join(folder, 'script.json')
  await writeFile(script, JSON.stringify(answers))
  return { dataDir: join(folder, 'data'), cwd, env: { LLM_MODEL: `scripted/${script}` } }
}

const command = (text: string, line: string) => ({
  text,
  tool_calls: [{ name: 'terminal', arguments: { command: line } }],
})

test('parley run without a server starts one for its message, prints the answer alone on its output, and leaves nothing running', async () => {
  await using folder = await temporaryFolder()
  const options = await project(folder.path, [command('Writing.', 'echo made > made'), { text: 'It is written.' }])
  const { code, stdout, stderr } = await run(['run', 'write it', '--confirm', 'never'], options)
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'It is written.\n' })
  expect(stderr).toContain('▸ terminal  $ echo made > made')
  expect(await readFile(join(options.cwd, 'made'), 'utf8')).toBe('made\n')
  await until(async () => (await processesOf(options.dataDir)).length === 0, 15_000)
})

test('parley run reads its message from a pipe and prints events and the result as JSON', async () => {
  await using folder = await temporaryFolder()
  const options = await project(folder.path, [{ text: 'One.' }, { text: 'Two.' }])
  await using _server = (await startServer(options)).parley
  const first = await run(['run', '--json'], options, 'say one\n')
  const lines = first.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines[0]).toMatchObject({ type: 'event', event: { kind: 'MessageEvent', source: 'user' } })
  const result = { type: 'result', status: 'finished', response: 'One.', conversation_id: expect.any(String) }
  expect(lines.at(-1)).toMatchObject(result)
  const second = await run(['run', '--continue', '--json', 'say two'], options)
  const more = second.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(more[0].event.llm_message.content[0].text).toBe('say two')
  expect(more.at(-1)).toMatchObject({ response: 'Two.', conversation_id: lines.at(-1).conversation_id })
})

test('the exit code of parley run says that an action waits for an approval, and that a run failed', async () => {
  await using folder = await temporaryFolder()
  const options = await project(folder.path, [command('Removing.', 'rm -rf x'), { error: 'the model is out' }])
  await using _server = (await startServer(options)).parley
  const waiting = await run(['run', 'remove it', '--confirm', 'always'], options)
  expect([waiting.code, waiting.stdout]).toEqual([4, ''])
  expect(waiting.stderr).toMatch(/an action waits for an approval; decide with: parley --resume [0-9a-f]{8}/)
  const bad = await project(join(folder.path, 'work'), [{ error: 'the model is out' }])
  const failed = await run(['run', 'fail', '--model', bad.env.LLM_MODEL], options)
  expect(failed.code).toBe(1)
  expect(failed.stderr).toMatch(/the model is out/)
  expect((await run(['run', '  '], options)).code).toBe(2)
})

test('a Ctrl-C interrupts the run of parley run, which ends with exit code 3', async () => {
  await using folder = await temporaryFolder()
  const options = await project(folder.path, [command('Waiting.', 'echo begun > begun; sleep 60'), { text: 'Late.' }])
  await using _server = (await startServer(options)).parley
  await using parley = new Parley(['run', 'wait', '--confirm', 'never'], options)
  await until(
    () =>
      readFile(join(options.cwd, 'begun'), 'utf8').then(
        () => true,
        () => false,
      ),
    15_000,
  )
  parley.process.kill('SIGINT')
  expect(await parley.exit()).toBe(3)
})

test('a server that parley run cannot start is reported with its reason', async () => {
  await using folder = await temporaryFolder()
  const options = await project(folder.path, [])
  const { code, stderr } = await run(['run', 'x'], { ...options, env: { ...options.env, PARLEY_HOST: '256.0.0.1' } })
  expect(code).toBe(1)
  expect(stderr).toMatch(/the server did not start: .*256\.0\.0\.1/)
})
