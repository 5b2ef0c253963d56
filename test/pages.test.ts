/** Runs the shell examples of the pages in order and compares their output with the page. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startGitServer } from '../packages/server/testing/git-server.ts'
import { startScriptedModel } from '../packages/server/testing/scripted-model.ts'
import { KEY, startTestServer } from '../packages/server/testing/server.ts'
import { command } from '../packages/server/testing/instructed-model.ts'
import { until } from '../packages/server/testing/until.ts'
import { readSource } from './source-files.ts'

/** Separates the output of two examples. */
const MARK = '\n=== next example ===\n'

const examplesOf = (page: string): string[] =>
  [...readSource(`docs/${page}`).matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, code]) => code!)

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/** The expected output: comments that begin like JSON. `…` stands for any text. */
function expected(code: string): RegExp {
  const lines = code.split('\n').filter((line) => /^# [[{]/.test(line))
  const patterns = lines.map((line) => line.slice(2).split('…').map(escaped).join('[^]*?'))
  return new RegExp(`^\\s*${patterns.join('\\s*')}\\s*$`)
}

test.each([
  ['new-conversation.md', 5],
  ['settings.md', 1],
  ['secrets.md', 2],
  ['webhooks.md', 2],
  ['replay.md', 1],
  ['keys.md', 1],
  ['errors.md', 1],
])('every shell example of %s prints the output that the page shows', async (page, atLeast) => {
  await using git = await startGitServer()
  await git.add('acme/shop')
  await using model = await startScriptedModel({
    respond: ({ view }) =>
      view.assistantTurns === 0 ? command('echo "one line after another" > haiku.txt') : { text: 'It is written.' },
  })
  await using server = await startTestServer({
    PARLEY_LLM_MODEL: 'openai/gpt-5.5',
    PARLEY_LLM_API_KEY: 'k',
    PARLEY_LLM_BASE_URL: `${model.url}/v1`,
    PARLEY_GIT_HOSTS: JSON.stringify({ github: git.url }),
  })
  // A finished conversation, for pages whose examples need one.
  const { body } = await server.call('POST', '/api/conversations', { initial_user_msg: 'go' })
  const ID = body.conversation_id as string
  await until(
    async () => (await server.call('GET', `/api/conversations/${ID}/status`)).body.execution_status === 'finished',
  )
  const examples = examplesOf(page)
  expect(examples.length).toBeGreaterThanOrEqual(atLeast)
  const script = examples.map((code) => `${code}\nprintf '%s' "$MARK"\n`).join('')
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: server.dir.path,
    env: { PATH: process.env['PATH'], URL: server.url, KEY, ID, MARK },
    timeout: 60_000,
  })
  const printed = stdout.split(MARK)
  for (const [index, code] of examples.entries()) expect(printed[index], code).toMatch(expected(code))
})
