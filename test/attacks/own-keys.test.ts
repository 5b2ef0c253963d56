/** The keys of the server itself, printed by commands: no answer, event or log contains them. */
import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { starting, start } from '../../packages/server/testing/conversations.ts'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { KEY, startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'

/** Prints a file as text, in base64 with one more byte before it, and in hex. */
const printed = (path: string) =>
  `cat ${path}; printf x | cat - ${path} | base64 -w0; echo; od -An -v -tx1 ${path} | tr -d ' \\n'`

/** What `/api/bash` and the terminal of an agent show of files. */
async function shown(server: TestServer, paths: readonly string[], headers = {}): Promise<string> {
  const command = paths.map(printed).join('; ')
  await using model = await startScriptedModel({
    answers: [
      { toolCalls: [{ name: 'terminal', arguments: { command } }] },
      { toolCalls: [{ name: 'finish', arguments: { message: 'done' } }] },
    ],
  })
  const as: Pick<TestServer, 'call'> = { call: (method, path, body) => server.call(method, path, body, headers) }
  const output = (await as.call('POST', '/api/bash/execute_bash_command', { command })).body
  expect(output.exit_code).toBe(0)
  const conversation = await start(as, starting(model, server.dir.file('work')))
  await conversation.say('print them')
  await conversation.is('finished', 'error')
  const observations = await conversation.kinds('ObservationEvent')
  expect(observations.length).toBe(2)
  return JSON.stringify([output, await conversation.events()])
}

const formsOf = (key: string): string[] => [
  key,
  Buffer.from(key).toString('hex'),
  Buffer.from(`x${key}`).toString('base64').slice(2, -4),
]

test('the key of the first start, the sealing key of the data directory and an issued key that was used are masked', async () => {
  await using server = await startTestServer({ PARLEY_SESSION_API_KEYS: '', PARLEY_SANDBOX: 'off' })
  const files = ['first-key', 'secret-key'].map((name) => server.dir.file('data', name))
  const keys = await Promise.all(files.map(async (file) => (await readFile(file, 'utf8')).trim()))
  const admin = { 'X-Session-API-Key': keys[0]! }
  const { key } = (await server.call('POST', '/api/keys', { user: 'default' }, admin)).body
  await writeFile(server.dir.file('issued'), key)
  const text = await shown(server, [...files, server.dir.file('issued')], { 'X-Session-API-Key': key })
  for (const form of [...keys, key].flatMap(formsOf)) expect(text).not.toContain(form)
  expect(text).toContain('<secret-hidden>')
})

test('configured keys are masked, and texts that equal a key of three characters are not', async () => {
  const secretKey = canary('server_secret_key')
  await using server = await startTestServer({
    PARLEY_SESSION_API_KEYS: `${KEY},dev`,
    PARLEY_SECRET_KEY: secretKey,
    PARLEY_LLM_API_KEY: canary('vendor_key'),
    PARLEY_SANDBOX: 'off',
  })
  const keys = [KEY, secretKey, canary('vendor_key')]
  await writeFile(server.dir.file('keys'), keys.join('\n'))
  await writeFile(server.dir.file('words'), 'the dev server')
  const text = await shown(server, [server.dir.file('keys'), server.dir.file('words')])
  for (const key of keys) expect(text).not.toContain(key)
  expect(text).toContain('the dev server')
})
