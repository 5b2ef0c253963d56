import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { startWebhookReceiver } from '../../packages/server/testing/webhook-receiver.ts'
import { until } from '../../packages/server/testing/until.ts'
import { WEBHOOK_SECRET, startRequest, webhookEnv, type Loose } from '../../packages/server/testing/webhook-servers.ts'

const VALUES = {
  ODD_WORD: 'true',
  ODD_NOTHING: '',
  ODD_SHELL: '$HOME `id -q4Zx` $(id) \\ "q" \'q\' !!',
  ODD_LINES: '-----BEGIN ODD KEY-----\nline-7uR\r\n\tdef\n',
}
/** Texts that only maskable values contain, in every form in which a text escapes them. */
const MARKS = ['q4Zx', 'BEGIN ODD KEY', 'line-7uR']
const marksIn = (text: string): string[] => MARKS.filter((mark) => text.includes(mark))

test('secret values of unusual forms are exact in the environment of a command and masked elsewhere where that is safe', async () => {
  const command = Object.keys(VALUES)
    .map((name) => `printf %s "$${name}" > ${name}; printenv ${name}; echo "it is $${name}!"`)
    .join('; ')
  await using dir = await tempDir()
  await using receiver = await startWebhookReceiver({ secret: WEBHOOK_SECRET })
  await using model = await startScriptedModel({
    by: 'turn',
    answers: [{ toolCalls: [{ name: 'terminal', arguments: { command } }] }, { text: 'Done.' }],
  })
  await using server = await startServerProcess({
    dataDir: dir.file('data'),
    env: {
      PARLEY_LOG_LEVEL: 'trace',
      ...webhookEnv([receiver.url], { events: true, event_buffer_size: 1, flush_delay: 0.1 }),
    },
  })
  const secrets = Object.entries(VALUES)
  for (const [name, value] of secrets) {
    const { status, body } = await server.call('POST', '/api/secrets', { name, value })
    expect([status, 'warning' in body]).toEqual([201, value.length < 5])
  }
  const start = (members: object) =>
    server.call('POST', '/api/conversations', {
      ...startRequest(dir.file('work'), model),
      autotitle: false,
      ...members,
    })
  const { agent } = startRequest(dir.file('work'), model)
  const { body: info } = await start({
    agent: { ...agent, tools: [{ name: 'terminal' }] },
    initial_message: { content: [{ type: 'text', text: 'go' }] },
  })
  const at = `/api/conversations/${info.id}`
  await until(async () => (await server.call('GET', at)).body.execution_status === 'finished')

  for (const [name, value] of secrets) {
    expect([name, await readFile(dir.file('work', name), 'utf8')]).toEqual([name, value])
  }
  const { body: page } = await server.call('GET', `${at}/events/search?limit=100`)
  expect(page.next_page_id).toBeNull()
  const { observation } = page.items.find((event: Loose) => event.observation?.kind === 'TerminalObservation')
  const output: string = observation.content[0].text
  expect(output.match(/<secret-hidden>/g)).toHaveLength(4)
  // Hiding a word as common as this one would destroy ordinary output.
  expect(output).toContain('it is true!')
  expect(output).toContain('it is !')

  const refused = [
    ...(await Promise.all(secrets.map(([, value]) => server.call('POST', '/api/secrets', { name: 7, value })))),
    ...(await Promise.all(
      secrets.map(([name, value]) =>
        start({ secrets: { [name]: { kind: 'StaticSecret', value, description: 7 } }, max_iterations: 'many' }),
      ),
    )),
  ]
  expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 422))
  await until(() => receiver.about(info.id).some(({ text }) => text.includes('it is true!')), 30_000)
  const { body: trajectory } = await server.call('GET', `${at}/trajectory`)
  const places = {
    events: JSON.stringify(page),
    trajectory: JSON.stringify(trajectory),
    'what the model was sent': JSON.stringify(model.requests.map(({ body }) => body)),
    'bodies of 422': JSON.stringify(refused),
    webhooks: receiver.attempts.map(({ text }) => text).join('\n'),
    'the log of the server': server.stderr(),
  }
  expect(server.stderr()).toContain('"level"')
  expect(Object.entries(places).map(([place, text]) => [place, marksIn(text)])).toEqual(
    Object.keys(places).map((place) => [place, []]),
  )
})
