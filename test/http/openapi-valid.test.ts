import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { startTestServer } from '../../packages/server/testing/server.ts'

test.each(['/openapi.json', '/api/v1/webhooks/openapi.json'])(
  '%s is valid under the meta-schema of OpenAPI',
  async (path) => {
    await using server = await startTestServer()
    const { status, body } = await server.call('GET', path)
    expect(status).toBe(200)
    const { valid, errors } = await new Validator().validate(body)
    expect([valid, errors]).toEqual([true, undefined])
  },
)
