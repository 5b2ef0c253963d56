import { expect, test } from 'vitest'
import { signatureHeaders } from './sign.ts'

test('the signature is the one of the specification for its example', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const headers = signatureHeaders('msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, '{"test": 2432232314}', secret)
  expect(headers).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

test('without a secret a delivery is identified and not signed', () => {
  expect(signatureHeaders('a', 1, '', null)).toEqual({ 'webhook-id': 'a', 'webhook-timestamp': '1' })
})
