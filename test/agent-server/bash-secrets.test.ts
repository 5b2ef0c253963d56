import { expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'

test("secrets in the output of a user's bash command are masked, also across pieces of the output", async () => {
  await using server = await startTestServer()
  const value = canary('user_secret_2')
  await server.call('POST', '/api/secrets', { name: 'MINE', value })
  // Reversed in the command, which is stored unmasked; and across the end of the first piece of a million characters.
  const backwards = [...value].toReversed().join('')
  const command = `head -c 1048566 /dev/zero | tr '\\0' x; echo ${backwards} | rev; echo ${backwards} | rev >&2`
  const { status, body } = await server.call('POST', '/api/bash/execute_bash_command', { command })
  expect(status).toBe(200)
  expect(body.stderr).toBe('<secret-hidden>\n')
  const { body: page } = await server.call('GET', `/api/bash/bash_events/search?command_id__eq=${body.command_id}`)
  const printed = page.items.map(({ stdout }: { stdout?: string }) => stdout ?? '').join('')
  expect(printed.slice(-20)).toBe('xxxx<secret-hidden>\n')
})
