import { expect, test } from 'vitest'
import { signatureFault, webhookSignature } from './webhook-signature.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const NEXT = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
const BODY = Buffer.from('{"test": 2432232314}')
const SECONDS = 1_614_265_330
const HEADERS = {
  'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  'webhook-timestamp': String(SECONDS),
  'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
}
const faultOf = (change: Record<string, unknown> = {}, body = BODY, secrets = [SECRET], at = SECONDS) =>
  signatureFault({ ...HEADERS, ...change }, body, secrets, at * 1000)

test('the signature in the example of the specification is accepted, also among others and with several secrets', () => {
  expect(faultOf()).toBeNull()
  expect(faultOf({}, BODY, [NEXT, SECRET])).toBeNull()
  const signature = `v1a,AAAA v1,AAAA ${HEADERS['webhook-signature']}`
  expect(faultOf({ 'webhook-signature': signature })).toBeNull()
})

test.each<[string, () => string | null, RegExp]>([
  ['without an id', () => faultOf({ 'webhook-id': undefined }), /is missing/],
  ['without a signature', () => faultOf({ 'webhook-signature': undefined }), /is missing/],
  ['without a time', () => faultOf({ 'webhook-timestamp': undefined }), /is missing/],
  ['with a time that is no number', () => faultOf({ 'webhook-timestamp': '1e9' }), /is not a number/],
  ['of more than five minutes ago', () => faultOf({}, BODY, [SECRET], SECONDS + 301), /more than 5 minutes/],
  ['of a later time', () => faultOf({}, BODY, [SECRET], SECONDS - 301), /more than 5 minutes/],
  ['for another time', () => faultOf({ 'webhook-timestamp': String(SECONDS + 1) }), /another secret/],
  ['for another id', () => faultOf({ 'webhook-id': 'msg_other' }), /another secret/],
  ['for another body', () => faultOf({}, Buffer.from('{}')), /another body/],
  ['with another secret', () => faultOf({}, BODY, [NEXT]), /another secret/],
  [
    'in another version',
    () => faultOf({ 'webhook-signature': HEADERS['webhook-signature'].replace('v1', 'v2') }),
    /another/,
  ],
  ['cut off', () => faultOf({ 'webhook-signature': 'v1,g0hM9SsE' }), /another secret/],
  [
    'beyond the first eight',
    () => faultOf({ 'webhook-signature': `${'v1,A '.repeat(8)}${HEADERS['webhook-signature']}` }),
    /another/,
  ],
])('a signature %s is not accepted', (_, fault, reason) => {
  expect(fault()).toMatch(reason)
})

test('a signature at both ends of the five minutes is accepted', () => {
  for (const at of [SECONDS - 300, SECONDS + 300]) expect(faultOf({}, BODY, [SECRET], at)).toBeNull()
})

test('bytes of a body that are not text are signed as they are', () => {
  const body = Buffer.from([0xff, 0xfe, 0x00])
  const mac = webhookSignature({ id: 'a', timestamp: '1', body }, SECRET).toString('base64')
  const headers = { 'webhook-id': 'a', 'webhook-timestamp': '1', 'webhook-signature': `v1,${mac}` }
  expect(signatureFault(headers, body, [SECRET], 1000)).toBeNull()
  expect(signatureFault(headers, Buffer.from(body.toString()), [SECRET], 1000)).not.toBeNull()
})
