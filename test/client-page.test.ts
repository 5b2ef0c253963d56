/** Runs the examples of `docs/client.md` in order against a real server with a scripted model. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startScriptedModel } from '../packages/server/testing/scripted-model.ts'
import { KEY, startTestServer } from '../packages/server/testing/server.ts'
import { command } from '../packages/server/testing/instructed-model.ts'
import { readSource } from './source-files.ts'

const page = readSource('docs/client.md')
const examples = [...page.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code]) => code!)

/** The examples as one program, which prints a line after each. */
function programOf(values: Record<string, string>): string {
  const imports = examples.flatMap((code) => code.split('\n').filter((line) => line.startsWith('import ')))
  const bodies = examples.map((code, index) => {
    const lines = code.split('\n').filter((line) => !line.startsWith('import '))
    return `${lines.join('\n')}\nconsole.log('example ${index} done')\n`
  })
  const given = Object.entries(values).map(([name, value]) => `const ${name} = ${JSON.stringify(value)}`)
  return [...new Set(imports), ...given, ...bodies, 'process.exit(0)']
    .join('\n')
    .replaceAll(/'@parley\/(client|protocol)'/g, (_, name: string) =>
      JSON.stringify(fileURLToPath(new URL(`../packages/${name}/src/index.ts`, import.meta.url))),
    )
}

test('every example of the client page runs', async () => {
  await using model = await startScriptedModel({
    respond: ({ text, view }) => {
      if (text.includes('You judge whether')) return { text: '{"complete": true}' }
      return text.includes('Run a command.') && view.assistantTurns === 0 ? command('true') : { text: 'A directory.' }
    },
  })
  const base_url = `${model.url}/v1`
  const settings = { PARLEY_LLM_MODEL: 'openai/gpt-5.5', PARLEY_LLM_API_KEY: 'k', PARLEY_LLM_BASE_URL: base_url }
  await using server = await startTestServer(settings)
  const file = server.dir.file('page.ts')
  const values = { baseUrl: server.url, apiKey: KEY, api_key: 'k', base_url, working_dir: server.dir.file('work') }
  await writeFile(file, programOf(values))
  const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 60_000 })
  const done = [...stdout.matchAll(/^example (\d+) done$/gm)].map(([, index]) => Number(index))
  expect(examples.length).toBeGreaterThan(10)
  expect(done).toEqual(examples.map((_, index) => index))
  expect(stdout).toContain('0 hello')
  expect(stdout).toContain('404 ')
})
