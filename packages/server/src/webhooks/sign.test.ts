import { expect, test } from 'vitest'
import { signatureHeaders } from './sign.ts'

test('a webhook signature equals the one in the example of the specification', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const headers = signatureHeaders('msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, '{"test": 2432232314}', secret)
  expect(headers).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

test('a delivery without a secret has an id and no signature', () => {
  expect(signatureHeaders('a', 1, '', null)).toEqual({ 'webhook-id': 'a', 'webhook-timestamp': '1' })
})
