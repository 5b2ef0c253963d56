import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { asConversationId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { diskWorkspace } from '../../../testing/disk-workspace.ts'
import { tempDir, type TempDir } from '../../../testing/temp.ts'
import { findDefinitionsIn } from './find-definitions.ts'

const FILE = (name: string) =>
  `---\nname: ${name}\ndescription: Helps.\nmcp_servers: { docs: { url: "https://docs.example/mcp" } }\n---\nYou help.\n`

async function put(dir: TempDir, path: string, text: string) {
  await mkdir(dirname(dir.file(path)), { recursive: true })
  await writeFile(dir.file(path), text)
}

async function find(dir: TempDir, owner: string, trusted: readonly string[]) {
  const workingDir = dir.file('work')
  const found = findDefinitionsIn({
    workspaces: { open: async (spec) => diskWorkspace(spec.workingDir) },
    home: dir.file('home'),
    trusted,
    log: { info: () => undefined },
  })
  const record = { workspace: { kind: 'LocalWorkspace', working_dir: workingDir } } as Parameters<
    typeof found
  >[0]['record']
  return found({ id: asConversationId('c1'), owner, epoch: 1, record })
}

test('definitions of the project come before those of the user, which only the owner of the account gets', async () => {
  await using dir = await tempDir()
  await put(dir, 'work/.agents/agents/reviewer.md', FILE('reviewer'))
  await put(dir, 'home/.agents/agents/writer.md', FILE('writer'))
  expect((await find(dir, 'default', [])).map(({ name }) => name)).toEqual(['reviewer', 'writer'])
  expect((await find(dir, 'ann', [])).map(({ name }) => name)).toEqual(['reviewer'])
})

test("a project's definition has MCP servers only where the operator trusts the project (D1)", async () => {
  await using dir = await tempDir()
  await put(dir, 'work/.agents/agents/reviewer.md', FILE('reviewer'))
  const serversWith = async (trusted: readonly string[]) => (await find(dir, 'ann', trusted))[0]!.mcp_config
  expect(await serversWith([])).toBeNull()
  expect(await serversWith([dir.file('work')])).toHaveProperty('docs')
})
