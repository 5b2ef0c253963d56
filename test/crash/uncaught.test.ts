/** Uncaught errors that contain every secret: the output of the server, and the work that continues. */
import { readdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { canary, MARK } from '../../packages/server/testing/canaries/values.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { processesOf } from '../../packages/server/testing/processes.ts'
import { until } from '../../packages/server/testing/until.ts'

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))
/** `parley`, as it is started by everybody. */
const CLI = [
  '--import',
  file('../../packages/server/testing/crash-on-signal.ts'),
  file('../../packages/cli/src/main.ts'),
]
const WAITING = 'while ! [ -e go-on ]; do sleep 0.1; done; echo "given: ${#USER_SECRET}"'

test.each([
  ['throws', 'TypeError', 'info'],
  ['rejects', 'TypeError', 'silent'],
  ['rejects with a text', 'string', 'trace'],
])(
  '%s: one log line without a secret, exit code 1, and the command keeps running',
  async (way, type, level) => {
    await using dir = await tempDir()
    await using model = await startScriptedModel({
      by: 'turn',
      answers: [{ toolCalls: [{ name: 'terminal', arguments: { command: WAITING } }] }, { text: 'all done' }],
    })
    const dataDir = dir.file('data')
    const env = { PARLEY_TEST_CRASH: way, PARLEY_LOG_LEVEL: level, PARLEY_SECRET_KEY: canary('server_secret_key') }
    await using first = await startServerProcess({ dataDir, argv: CLI, env })
    await first.call('POST', '/api/secrets', { name: 'USER_SECRET', value: canary('user_secret_2') })
    const { body: info } = await first.call('POST', '/api/conversations', {
      workspace: { working_dir: dir.file('work') },
      agent: {
        kind: 'Agent',
        llm: { model: 'openai/scripted', base_url: `${model.url}/v1`, api_key: canary('llm_key'), num_retries: 0 },
        tools: [{ name: 'terminal' }],
      },
      initial_message: { content: [{ type: 'text', text: 'go' }] },
    })
    const commands = async () => (await processesOf(dataDir, dir.file('work'))).filter(({ isRunner }) => !isRunner)
    const runner = async () => (await processesOf(dataDir, dataDir)).find(({ isRunner }) => isRunner)?.pid
    await until(async () => (await commands()).length > 0)
    const before = await runner()

    first.process.kill('SIGUSR2')
    await first.exited
    expect(first.process.exitCode).toBe(1)
    const said = first.stderr()
    const line = said.split('\n').find((each) => each.includes('"level":60'))
    expect(JSON.parse(line!)).toMatchObject({
      level: 60,
      err: { type },
      msg: expect.stringContaining('server stopped'),
    })
    if (type === 'TypeError') expect(line).toContain('crash-on-signal.ts')
    expect(said).not.toContain(MARK)
    expect(await runner()).toBe(before)
    expect((await commands()).length).toBeGreaterThan(0)
    expect((await readdir(dataDir)).filter((name) => name.startsWith('report'))).toEqual([])

    await using second = await startServerProcess({ dataDir, argv: CLI, env })
    await writeFile(dir.file('work', 'go-on'), '')
    const path = `/api/conversations/${info.id}`
    await until(async () => (await second.call('GET', path)).body.execution_status === 'finished', 30_000)
    const { body } = await second.call('GET', `${path}/events/search?kind=ObservationEvent`)
    expect(body.items.map((event: any) => event.observation.content[0].text)).toEqual([
      expect.stringContaining(`given: ${canary('user_secret_2').length}`),
    ])
    await second.call('DELETE', path)
  },
  90_000,
)
