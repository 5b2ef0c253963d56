/** Login methods of external agents and their credential files. Source: agent-core.md 11.4, 11.12. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import {
  startAcpConversation,
  errors,
  kill,
  installProgram,
  writeScript,
  type Script,
} from '../../packages/server/testing/acp-conversations.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const offers = (...ids: string[]) => ({ authMethods: ids.map((id) => ({ id })) })
const logins = (acp: Script) => acp.of('authenticate').map(({ params }) => params.methodId)

async function ended(acp: Script, members: object) {
  const conversation = await startAcpConversation(server, acp, 'hello', members)
  await conversation.is('finished', 'error')
  expect(errors(await conversation.events())).toEqual([])
  return conversation
}

const account = '{"type":"service_account"}'
const subscription = '{"tokens":{"access_token":"an-access-token"}}'
const keyFile = '{"OPENAI_API_KEY":"key-in-a-file"}'

test.each<[string, string[], Record<string, string>, string[]]>([
  ['vertex-ai with a file', ['oauth-personal', 'vertex-ai', 'gemini-api-key'], { at: account }, ['vertex-ai']],
  ['vertex-ai with a path to nothing', ['vertex-ai'], { GOOGLE_APPLICATION_CREDENTIALS: '/no/such/file' }, []],
  [
    'vertex-ai with a file secret',
    ['vertex-ai', 'gemini-api-key'],
    { GOOGLE_APPLICATION_CREDENTIALS_JSON: account, GEMINI_API_KEY: 'a-gemini-key' },
    ['vertex-ai'],
  ],
  ['gemini-api-key', ['vertex-ai', 'gemini-api-key'], { GEMINI_API_KEY: 'a-gemini-key' }, ['gemini-api-key']],
  ['an empty gemini-api-key', ['gemini-api-key'], { GEMINI_API_KEY: ' ' }, []],
  [
    'chat-gpt with tokens of a subscription',
    ['api-key', 'chat-gpt'],
    { CODEX_AUTH_JSON: subscription, OPENAI_API_KEY: 'an-openai-key' },
    ['chat-gpt'],
  ],
  [
    'chat-gpt with an API key in the file',
    ['api-key', 'chat-gpt'],
    { CODEX_AUTH_JSON: keyFile, OPENAI_API_KEY: 'an-openai-key' },
    ['api-key'],
  ],
  ['no offered method', [], { OPENAI_API_KEY: 'an-openai-key' }, []],
])('an ACP agent with %s is logged in by the expected method', async (_, offered, { at, ...secrets }, expected) => {
  const acp = writeScript(server.dir, offers(...offered))
  if (at !== undefined) {
    secrets['GOOGLE_APPLICATION_CREDENTIALS'] = server.dir.file('account.json')
    writeFileSync(secrets['GOOGLE_APPLICATION_CREDENTIALS'], at)
  }
  await ended(acp, { secrets })
  expect(logins(acp)).toEqual(expected)
})

test('a login with a key has the base URL of its gateway', async () => {
  const acp = writeScript(server.dir, offers('gemini-api-key'))
  await ended(acp, { secrets: { GEMINI_API_KEY: 'a-gemini-key', GEMINI_BASE_URL: 'https://gateway.example' } })
  expect(acp.of('authenticate')[0].params).toEqual({
    methodId: 'gemini-api-key',
    _meta: { gateway: { baseUrl: 'https://gateway.example' } },
  })
})

test('an ACP agent is logged in with oauth-personal as soon as its home has the credentials', async () => {
  const acp = writeScript(server.dir, offers('oauth-personal'))
  const agent = { acp_command: [installProgram(server.dir, 'gemini')], acp_isolate_data_dir: true }
  const conversation = await ended(acp, { agent })
  expect(logins(acp)).toEqual([])
  const { env, pid } = acp.starts()[0]
  expect(env.HOME).toBe(join(server.dir.file('data'), 'conversations', conversation.id, 'acp', 'gemini-cli'))
  mkdirSync(join(env.HOME, '.gemini'))
  writeFileSync(join(env.HOME, '.gemini', 'oauth_creds.json'), '{}')
  await kill(pid)
  await conversation.say('again')
  await expect.poll(() => acp.prompts().length, { timeout: 20_000 }).toBe(2)
  expect(logins(acp)).toEqual(['oauth-personal'])
})

test('the Google service account is a file, and neither a variable nor a secret name in the prompt', async () => {
  const acp = writeScript(server.dir, {})
  const conversation = await ended(acp, { secrets: { GOOGLE_APPLICATION_CREDENTIALS_JSON: account } })
  const { env } = acp.starts()[0]
  const file = env.GOOGLE_APPLICATION_CREDENTIALS
  expect(file).toBe(
    join(server.dir.file('data'), 'conversations', conversation.id, 'acp', 'gemini-cli', 'gcloud-credentials.json'),
  )
  expect(readFileSync(file, 'utf8')).toBe(account)
  expect([statSync(file).mode & 0o777, statSync(dirname(file)).mode & 0o777]).toEqual([0o600, 0o700])
  expect(env).not.toHaveProperty('GOOGLE_APPLICATION_CREDENTIALS_JSON')
  expect(acp.prompts()).toEqual([['hello']])
})

test('with empty acp_file_secrets all secrets are variables and named in the prompt', async () => {
  const acp = writeScript(server.dir, {})
  const secrets = { GOOGLE_APPLICATION_CREDENTIALS_JSON: account, CODEX_AUTH_JSON: keyFile }
  await ended(acp, { agent: { acp_file_secrets: [] }, secrets })
  const { env } = acp.starts()[0]
  expect(env).toMatchObject(secrets)
  for (const name of ['GOOGLE_APPLICATION_CREDENTIALS', 'CODEX_HOME']) expect(env).not.toHaveProperty(name)
  expect(acp.prompts()[0]![0]).toContain('- $CODEX_AUTH_JSON')
})
