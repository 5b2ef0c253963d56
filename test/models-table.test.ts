/** The command that writes the table of models. */
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { tempDir, type TempDir } from '../packages/server/testing/temp.ts'

const script = fileURLToPath(new URL('../scripts/models.mjs', import.meta.url))
const table = new URL('../packages/server/src/llm/models/models.ts', import.meta.url)
const PROVIDERS = 'alibaba anthropic deepseek google minimax mistral moonshotai openai xai zai'.split(' ')

/** A checkout of models.dev with the models that are given by path. */
async function checkout(dir: TempDir, models: Record<string, string>): Promise<string> {
  for (const provider of PROVIDERS) await mkdir(dir.file('dev', 'providers', provider, 'models'), { recursive: true })
  for (const [path, text] of Object.entries(models)) {
    await mkdir(dirname(dir.file('dev', path)), { recursive: true })
    await writeFile(dir.file('dev', path), text)
  }
  return dir.file('dev')
}

const write = (folder: string, file: string, ...more: string[]) =>
  promisify(execFile)(process.execPath, [script, folder, file, ...more])

const TALKS = 'tool_call = true\n[modalities]\ninput = ["text"]\noutput = ["text"]\n'

test('the table of models is written from a checkout: one line for each model that calls tools and writes text', async () => {
  await using dir = await tempDir()
  const folder = await checkout(dir, {
    'models/maker/base.toml': `${TALKS}[limit]\ncontext = 400_000\noutput = 128_000\n`,
    'providers/openai/models/one.toml':
      'base_model = "maker/base"\n[cost]\ninput = 1.25\noutput = 10.0\ncache_read = 0.125\n[limit]\noutput = 32_000\n',
    'providers/openai/models/one-2026-01-31.toml': TALKS,
    'providers/openai/models/dated-2026-01-31.toml': TALKS,
    'providers/openai/models/painter.toml': TALKS.replace('output = ["text"]', 'output = ["text", "image"]'),
    'providers/openai/models/silent.toml': TALKS.replace('true', 'false'),
    'providers/openai/models/gone.toml': `status = "deprecated"\n${TALKS}`,
    'providers/moonshotai/models/sub/seeing.toml': `${TALKS.replace('["text"]', '["text", "image"]')}[limit]\ncontext = 9000\n[cost]\ninput = 1\noutput = 2\n`,
  })
  await write(folder, dir.file('models.ts'))
  const text = await readFile(dir.file('models.ts'), 'utf8')
  expect(text.split('\n').filter((line) => line.startsWith('  '))).toEqual([
    "  'moonshot/sub/seeing': { window: 9000, images: true, price: [1, 2] },",
    "  'openai/dated-2026-01-31': { images: false },",
    "  'openai/one': { window: 400_000, output: 32_000, images: false, price: [1.25, 10, 0.125, 1.25] },",
  ])
})

test('models that the checkout lacks leave the table, or stay in it on request, under one name each', async () => {
  await using dir = await tempDir()
  const file = dir.file('models.ts')
  const rows = async () =>
    (await readFile(file, 'utf8')).split('\n').flatMap((line) => /^ {2}('.*'): .*$/.exec(line)?.[1] ?? [])
  await write(
    await checkout(dir, { 'providers/openai/models/old.toml': TALKS, 'providers/zai/models/GLM-4.5.toml': TALKS }),
    file,
  )
  await using newer = await tempDir()
  const folder = await checkout(newer, { 'providers/zai/models/glm-4-5-latest.toml': TALKS })
  await write(folder, file, '--keep')
  expect(await rows()).toEqual(["'openai/old'", "'zai/glm-4-5-latest'"])
  await write(folder, file)
  expect(await rows()).toEqual(["'zai/glm-4-5-latest'"])
})

test('the committed table has the form in which the command writes it', async () => {
  const { render } = (await import(script)) as { render: (models: object) => string }
  const { MODELS } = (await import(fileURLToPath(table))) as { MODELS: object }
  expect(render(MODELS)).toBe(await readFile(table, 'utf8'))
})

test('a folder that is no checkout is refused by name, and the table stays', async () => {
  await using dir = await tempDir()
  await expect(write(dir.path, dir.file('models.ts'))).rejects.toThrow(/providers\/alibaba\/models does not exist/)
  await expect(readFile(dir.file('models.ts'))).rejects.toThrow('ENOENT')
})
