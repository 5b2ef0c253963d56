import { expect, test } from 'vitest'
import { openCipher } from './cipher.ts'
import { encryptSecrets, plainSecrets } from './expose.ts'
import { openKnownSecrets } from './known-secrets.ts'
import { sealRecord, unsealRecord } from './seal-record.ts'
import { secretValues } from './secret-values.ts'
import { SERVER_CREDENTIAL, withReferences, withServerCredential } from './server-credential.ts'

const KEY = 'sk-of-the-server-1'
const sealing = await openCipher({ keyText: 'a key of 32 bytes', keyFile: '/nowhere', salt: '' })
const cipher = withServerCredential(sealing, KEY)

/** The key at every place of a credential that this server sends, and as a value for programs. */
const record = (key: string) => ({
  llm: { model: 'openai/x', api_key: key, extra_headers: { authorization: `Bearer ${key}` } },
  workspace: { kind: 'RemoteWorkspace', api_key: key },
  mcp_config: {
    a: { headers: { authorization: `Bearer ${key}` }, auth: { strategy: 'bearer', value: key } },
    b: { env: { OPENAI_API_KEY: key } },
  },
  secrets: { TOKEN: { kind: 'StaticSecret', value: key } },
})

test('a record that contains the key of the server is stored and read with the reference where the server would send it', () => {
  for (const stored of [sealRecord(record(KEY), sealing), sealRecord(record(KEY), cipher), record(KEY)]) {
    expect(unsealRecord(stored, cipher)).toEqual({
      ...record(SERVER_CREDENTIAL),
      llm: { model: 'openai/x', api_key: SERVER_CREDENTIAL, extra_headers: { authorization: SERVER_CREDENTIAL } },
      mcp_config: {
        a: { headers: { authorization: SERVER_CREDENTIAL }, auth: { strategy: 'bearer', value: SERVER_CREDENTIAL } },
        b: { env: { OPENAI_API_KEY: KEY } },
      },
      secrets: { TOKEN: { kind: 'StaticSecret', value: KEY } },
    })
  }
  expect(sealing.open((sealRecord({ api_key: KEY }, cipher) as { api_key: string }).api_key)).toBe(SERVER_CREDENTIAL)
})

test('a record that was not stored yet is used as if it had been', () => {
  expect(withReferences(record(KEY), cipher)).toEqual(unsealRecord(sealRecord(record(KEY), cipher), cipher))
  const other = record('mine')
  expect(withReferences(other, cipher)).toBe(other)
})

test('other keys, and keys that contain the one of the server, are unchanged', () => {
  for (const key of ['mine', `${KEY}-2`, `x${KEY}`, `Bearer mine`])
    expect(unsealRecord(sealRecord({ api_key: key }, cipher), cipher)).toEqual({ api_key: key })
})

test('the reference is no secret: it is shown as no key, and neither masked nor put into a token', () => {
  const llm = { api_key: SERVER_CREDENTIAL }
  const encrypt = () => 'a token'
  expect([plainSecrets(llm), encryptSecrets(llm, { encrypt })]).toEqual([{ api_key: null }, { api_key: null }])
  expect(secretValues(llm)).toEqual([])
  const known = openKnownSecrets([])
  known.watch(cipher).seal(SERVER_CREDENTIAL)
  expect(known.hide(SERVER_CREDENTIAL)).toBe(SERVER_CREDENTIAL)
})
