import fc from 'fast-check'
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { openCipher } from './cipher.ts'
import { makeResealer } from './reseal.ts'
import { sealRecord, unsealRecord } from './seal-record.ts'
import { SERVER_CREDENTIAL, withServerCredential } from './server-credential.ts'

const open = () => openCipher({ keyText: randomBytes(32).toString('base64'), keyFile: '/nowhere', salt: '' })
const SERVERS_KEY = 'sk-of-the-server-1'
const [earlier, next, foreign] = [withServerCredential(await open(), SERVERS_KEY), await open(), await open()]

test('every sealed value in a text is sealed with the new key, and everything else is unchanged', () => {
  const part = fc.oneof(
    fc.string({ unit: 'binary' }).map((text) => ['plain', text.toWellFormed().replaceAll('v1:', 'v:')] as const),
    fc.string().map((text) => ['sealed', text] as const),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const write = (seal: (text: string) => string) =>
        parts.map(([kind, text]) => (kind === 'plain' ? text : `"${seal(text)}"`)).join('"')
      const opened = (text: string, key: typeof next) =>
        text.replaceAll(/v1:[0-9a-f]{8}:[A-Za-z0-9_-]{38,}/g, (sealed) => `<${key.open(sealed)}>`)
      const before = write((text) => earlier.seal(text))
      const resealer = makeResealer(earlier, next)
      const after = resealer.text(before)
      expect(opened(after, next)).toBe(opened(before, earlier))
      expect(after.length).toBe(before.length)
      expect(resealer.counts).toEqual({ resealed: parts.filter(([kind]) => kind === 'sealed').length, unreadable: 0 })
      expect([resealer.isAffected(before), resealer.isAffected(after)]).toEqual([before.includes('v1:'), false])
    }),
  )
})

test('values of a third key stay as they are and are counted, and a second pass changes nothing', () => {
  const resealer = makeResealer(earlier, next)
  const text = `${foreign.seal('x')} ${earlier.seal('y')}`
  const after = resealer.text(text)
  expect(after.split(' ')[0]).toBe(text.split(' ')[0])
  expect(resealer.counts).toEqual({ resealed: 1, unreadable: 1 })
  expect(makeResealer(earlier, next).text(after.split(' ')[1]!)).toBe(after.split(' ')[1])
})

test('a record that contains the model key of the server gets the reference where the server would send it, and keeps the rest', () => {
  const record = {
    llm: { model: 'm', api_key: SERVERS_KEY },
    condenser: { llm: { model: 'm', api_key: 'mine' } },
    secrets: { TOKEN: { kind: 'StaticSecret', value: SERVERS_KEY } },
    pending_messages: 'a text',
  }
  const stored = { ...(sealRecord(record, { seal: earlier.seal, referenced: (text) => text }) as object) }
  const withMessages = JSON.stringify({ ...stored, pending_messages: earlier.seal('["a text"]') })
  const resealer = makeResealer(earlier, next)
  const after = JSON.parse(resealer.record(withMessages))
  expect(unsealRecord(after, next)).toMatchObject({
    ...record,
    llm: { model: 'm', api_key: SERVER_CREDENTIAL },
    pending_messages: after.pending_messages,
  })
  expect(next.open(after.pending_messages)).toBe('["a text"]')
  expect(resealer.counts).toEqual({ resealed: 4, unreadable: 0 })
})

test('a record that is no JSON keeps its text around the values', () => {
  const resealer = makeResealer(earlier, next)
  expect(resealer.record(`damaged ${earlier.seal('x')}`)).toMatch(new RegExp(`^damaged v1:${next.keyId}:`))
})
