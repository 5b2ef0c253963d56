/** The settings of a user have a largest size, whichever way they grow. Source: docs/errors.md, Size of a body. */
import { expect, test } from 'vitest'
import { startTestServer } from '../../packages/server/testing/server.ts'

const TOO_LARGE = {
  status: 413,
  body: { detail: 'The settings of a user have at most 1048576 characters. Remove what is not needed, or send less.' },
}

test('settings that would become too large are refused by every way to change them, and keep their values', async () => {
  await using server = await startTestServer()
  const misc = (chars: number, name = 'note') =>
    server.call('PATCH', '/api/settings', { misc_settings_diff: { [name]: 'x'.repeat(chars) } })
  expect((await misc(1_000_000)).status).toBe(200)
  expect(await misc(100_000, 'more')).toMatchObject(TOO_LARGE)
  expect(await server.call('POST', '/api/settings', { search_api_key: 'k'.repeat(60_000) })).toMatchObject(TOO_LARGE)
  const many = { command: 'true', args: Array.from({ length: 100 }, () => 'a'.repeat(1_000)) }
  expect(await server.call('POST', '/api/settings/mcp/large', many)).toMatchObject(TOO_LARGE)
  const { body } = await server.call('GET', '/api/settings')
  expect([body.misc_settings.note.length, 'more' in body.misc_settings, body.search_api_key_set ?? false]).toEqual([
    1_000_000,
    false,
    false,
  ])
  expect((await misc(10)).status).toBe(200)
  expect((await misc(100_000, 'more')).status).toBe(200)
})
