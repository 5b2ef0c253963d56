/** Removal of workspaces with their last conversation, and the directories that requests may reach. */
import type { MutatedFile } from '../mutant.ts'

const roots = 'packages/server/src/workspace/roots'
const removal = 'packages/server/src/workspace/removal'

export const workspace: readonly MutatedFile[] = [
  {
    file: 'packages/server/src/workspace/conversation-files.ts',
    tests: ['packages/server/src/workspace/conversation-files.test.ts'],
    mutants: [
      { before: 'if (to < text.length && isHighSurrogate(text.charCodeAt(to - 1))) to -= 1', after: '' },
      { before: "        if (parts !== null) return parts.map((part) => cipher.open(part)).join('')\n", after: '' },
      { before: '        await write(name, text)\n        await rm', after: '        await rm' },
      { before: '        await rm(path, { force: true })\n', after: '' },
    ],
  },
  {
    file: `${roots}/roots.ts`,
    tests: [`${roots}/roots.test.ts`],
    mutants: [
      { before: 'if (why !== null) throw new RefusedPath(path, at, why, this.opened)', after: '' },
      { before: '(await this.#ownerOf(id)) === this.#user', after: 'true' },
      { before: 'folder.name === folderName(this.#user)', after: 'true' },
      { before: "isInside(root, real)) ? null : 'unlisted'", after: 'isInside(root, real)) ? null : null' },
    ],
  },
  {
    file: `${roots}/folder-handle.ts`,
    tests: [`${roots}/roots.test.ts`],
    mutants: [{ before: 'if (await isAt(handle, real)) return', after: 'return' }],
  },
  {
    file: `${removal}/unsaved-work.ts`,
    tests: [`${removal}/unsaved-work.test.ts`],
    mutants: [
      { before: 'await git.disablePrograms()', after: '' },
      { before: "['core.excludesFile', '/dev/null'],\n", after: '' },
      { before: '      GIT_WORK_TREE: this.#directory,\n', after: '' },
      { before: 'if (!git.isDirectory())', after: 'if (git.isFile())' },
      { before: 'special.exit_code === 0 || ', after: '' },
      { before: "'--untracked-files=normal', ", after: '' },
      { before: "(await git.ask('rev-parse', '--verify', '--quiet', 'refs/stash')) !== null", after: 'false' },
      { before: "...(head === null ? [] : ['HEAD']), ", after: '' },
      { before: "...(isWorktree ? [] : ['--branches'])", after: '' },
      { before: "isWorktree ? await git.otherBranches() : ['--remotes']", after: "['--remotes']" },
      { before: 'if (!entry.isDirectory()) return', after: 'if (entry.isFile()) return' },
    ],
  },
  {
    file: `${removal}/remove-tree.ts`,
    tests: [`${removal}/remove-tree.test.ts`],
    mutants: [
      { before: 'if (!entry.isDirectory()) return unlink(path)\n', after: '' },
      { before: 'await rename(at, inside(aside, Buffer.from(randomUUID())))', after: 'await rmdir(at)' },
      { before: "{ encoding: 'buffer' as BufferEncoding }", after: '' },
      { before: 'await mkdir(aside, { recursive: true, mode: 0o700 })\n', after: '' },
    ],
  },
  {
    file: `${removal}/workspace-removal.ts`,
    tests: ['test/conversation/workspace-removal.test.ts'],
    mutants: [
      { before: '    if (await isUsed()) return SHARED\n', after: '' },
      { before: 'if (inode !== made.inode)', after: 'if (false as boolean)' },
      { before: "choice === 'delete' ? null : await", after: 'await' },
      { before: "if (choice === 'keep')", after: 'if (false as boolean)' },
      { before: 'await this.#unregister(made)\n', after: '' },
      { before: 'dirname(directory) === this.#folders && ', after: '' },
    ],
  },
  {
    file: 'packages/server/src/workspace/local.ts',
    tests: ['packages/server/src/workspace/full-disk.test.ts', 'packages/server/src/workspace/setup-file.test.ts'],
    mutants: [
      { before: 'limitMs ?? waitMs', after: 'limitMs' },
      { before: 'await abortable(this.#variables(), signal)', after: 'await this.#variables()' },
      { before: '        this.#afterSetup = null\n', after: '' },
    ],
  },
  {
    file: 'packages/server/src/workspace/bash/bash.ts',
    tests: ['test/crash/bash-end.test.ts'],
    mutants: [{ before: '        onRefused()\n', after: '' }],
  },
]
