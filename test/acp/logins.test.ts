/** Which login an external agent gets, and the files behind it: one row per rule. Source: agent-core.md 11.4 (Authentication), 11.12. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { begin, errors, kill, program, script, type Script } from './acting.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const offers = (...ids: string[]) => ({ authMethods: ids.map((id) => ({ id })) })
const logins = (acp: Script) => acp.of('authenticate').map(({ params }) => params.methodId)

async function ended(acp: Script, members: object) {
  const said = await begin(server, acp, 'hello', members)
  await said.is('finished', 'error')
  expect(errors(await said.events())).toEqual([])
  return said
}

const account = '{"type":"service_account"}'
const subscription = '{"tokens":{"access_token":"an-access-token"}}'
const keyFile = '{"OPENAI_API_KEY":"key-in-a-file"}'

test.each<[string, string[], Record<string, string>, string[]]>([
  ['vertex-ai with a file', ['oauth-personal', 'vertex-ai', 'gemini-api-key'], { at: account }, ['vertex-ai']],
  ['vertex-ai with a path to nothing', ['vertex-ai'], { GOOGLE_APPLICATION_CREDENTIALS: '/no/such/file' }, []],
  [
    'vertex-ai by the secret that becomes a file',
    ['vertex-ai', 'gemini-api-key'],
    { GOOGLE_APPLICATION_CREDENTIALS_JSON: account, GEMINI_API_KEY: 'a-gemini-key' },
    ['vertex-ai'],
  ],
  ['gemini-api-key', ['vertex-ai', 'gemini-api-key'], { GEMINI_API_KEY: 'a-gemini-key' }, ['gemini-api-key']],
  ['an empty key', ['gemini-api-key'], { GEMINI_API_KEY: ' ' }, []],
  [
    'chat-gpt with tokens of a subscription',
    ['api-key', 'chat-gpt'],
    { CODEX_AUTH_JSON: subscription, OPENAI_API_KEY: 'an-openai-key' },
    ['chat-gpt'],
  ],
  [
    'chat-gpt with a file of the other kind',
    ['api-key', 'chat-gpt'],
    { CODEX_AUTH_JSON: keyFile, OPENAI_API_KEY: 'an-openai-key' },
    ['api-key'],
  ],
  ['nothing offered', [], { OPENAI_API_KEY: 'an-openai-key' }, []],
])('%s', async (_, offered, { at, ...secrets }, expected) => {
  const acp = script(server.dir, offers(...offered))
  if (at !== undefined) {
    secrets['GOOGLE_APPLICATION_CREDENTIALS'] = server.dir.file('account.json')
    writeFileSync(secrets['GOOGLE_APPLICATION_CREDENTIALS'], at)
  }
  await ended(acp, { secrets })
  expect(logins(acp)).toEqual(expected)
})

test('the address of a gateway goes with a key for it', async () => {
  const acp = script(server.dir, offers('gemini-api-key'))
  await ended(acp, { secrets: { GEMINI_API_KEY: 'a-gemini-key', GEMINI_BASE_URL: 'https://gateway.example' } })
  expect(acp.of('authenticate')[0].params).toEqual({
    methodId: 'gemini-api-key',
    _meta: { gateway: { baseUrl: 'https://gateway.example' } },
  })
})

test('oauth-personal with the credentials of its own home, from the moment they are there', async () => {
  const acp = script(server.dir, offers('oauth-personal'))
  const agent = { acp_command: [program(server.dir, 'gemini')], acp_isolate_data_dir: true }
  const said = await ended(acp, { agent })
  expect(logins(acp)).toEqual([])
  const { env, pid } = acp.starts()[0]
  expect(env.HOME).toBe(join(server.dir.file('data'), 'conversations', said.id, 'acp', 'gemini-cli'))
  mkdirSync(join(env.HOME, '.gemini'))
  writeFileSync(join(env.HOME, '.gemini', 'oauth_creds.json'), '{}')
  await kill(pid)
  await said.say('again')
  await expect.poll(() => acp.prompts().length, { timeout: 20_000 }).toBe(2)
  expect(logins(acp)).toEqual(['oauth-personal'])
})

test('the account of Google is a file of its own, and neither a variable nor a name in the prompt', async () => {
  const acp = script(server.dir, {})
  const said = await ended(acp, { secrets: { GOOGLE_APPLICATION_CREDENTIALS_JSON: account } })
  const { env } = acp.starts()[0]
  const file = env.GOOGLE_APPLICATION_CREDENTIALS
  expect(file).toBe(
    join(server.dir.file('data'), 'conversations', said.id, 'acp', 'gemini-cli', 'gcloud-credentials.json'),
  )
  expect(readFileSync(file, 'utf8')).toBe(account)
  expect([statSync(file).mode & 0o777, statSync(dirname(file)).mode & 0o777]).toEqual([0o600, 0o700])
  expect(env).not.toHaveProperty('GOOGLE_APPLICATION_CREDENTIALS_JSON')
  expect(acp.prompts()).toEqual([['hello']])
})

test('with acp_file_secrets [] no secret is a file: all are variables, and named', async () => {
  const acp = script(server.dir, {})
  const secrets = { GOOGLE_APPLICATION_CREDENTIALS_JSON: account, CODEX_AUTH_JSON: keyFile }
  await ended(acp, { agent: { acp_file_secrets: [] }, secrets })
  const { env } = acp.starts()[0]
  expect(env).toMatchObject(secrets)
  for (const name of ['GOOGLE_APPLICATION_CREDENTIALS', 'CODEX_HOME']) expect(env).not.toHaveProperty(name)
  expect(acp.prompts()[0]![0]).toContain('- $CODEX_AUTH_JSON')
})
