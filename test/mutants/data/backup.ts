/** Backups and restores: what they contain, what they refuse, and what a restored directory does. */
import type { MutatedFile } from '../mutant.ts'

const at = (name: string) => `packages/server/src/${name}`
const tests = [at('compose/backup/backup.test.ts')]
const store = ['test/storage/sqlite.test.ts']
const servers = ['test/crash/backup.test.ts']

export const backup: readonly MutatedFile[] = [
  {
    file: at('compose/backup/back-up.ts'),
    tests,
    mutants: [
      { before: 'if (isInside(data, join(place, basename(target))))', after: 'if (false)' },
      { before: 'if (existsSync(target))', after: 'if (false)' },
      { before: 'if (!existsSync(folder))', after: 'if (false)' },
      { before: 'if (isInside(target, keyFile))', after: 'if (false)' },
      { before: '  if (secretKey !== null)\n', after: '  if (false)\n' },
      { before: "open(path, 'wx', 0o600)", after: "open(path, 'wx', 0o644)" },
      { before: '      await openStoreCipher(copy, {', after: '      void ({' },
      { before: '    await rm(partial, { recursive: true, force: true })\n', after: '' },
      { before: 'isContent(path, withWorkspaces)', after: 'isContent(path, true)' },
      { before: 'copyTree(dataDir, to, RUNNER, isCallRecord, copied)', after: 'Promise.resolve()' },
    ],
  },
  {
    file: at('compose/backup/tree.ts'),
    tests,
    mutants: [
      { before: 'if (!copying.wants(path)) return\n', after: '' },
      { before: 'stat.isSymbolicLink()', after: 'false' },
      {
        before: 'const permissions = ({ mode }: Stats): number => mode & PERMISSIONS',
        after: 'const permissions = (_: Stats): number => 0o600',
      },
    ],
  },
  {
    file: at('compose/backup/manifest.ts'),
    tests,
    mutants: [
      { before: ' || last.sha256 !== sha256(body)', after: '' },
      { before: 'if (found.size !== entry.size)', after: 'if (false)' },
      { before: 'if (found.sha256 !== entry.sha256)', after: 'if (false)' },
      { before: ' && isKnownPath(path)', after: '' },
      { before: "!['', '.', '..'].includes(part)", after: 'true' },
      { before: 'if (format.format_version !== FORMAT_VERSION)', after: 'if (false)' },
    ],
  },
  {
    file: at('compose/backup/restore.ts'),
    tests,
    mutants: [
      { before: 'if (header.schema_version > SCHEMA_VERSION)', after: 'if (false)' },
      { before: '  await verifyFiles(source, entries)\n', after: '' },
      { before: 'if (isSealed && !replaceSecretKey)', after: 'if (false)' },
      { before: 'if (keyFile !== null && secretKey !== null)', after: 'if (false)' },
      { before: 'const isMoved = !data_dirs.includes(dataDir)', after: 'const isMoved = false' },
      { before: '    await rm(staged, { recursive: true, force: true })\n', after: '' },
      { before: 'if (found === undefined) return\n', after: 'return\n' },
      { before: 'return storage.conversations.markRestored(created_at)', after: 'return 0', tests: servers },
    ],
  },
  {
    file: at('storage/data-dir-lock.ts'),
    tests,
    mutants: [{ before: 'if (existsSync(join(dataDir, RESTORING))) throw halfRestored(dataDir)', after: '' }],
  },
  {
    file: at('storage/sqlite/store-copy.ts'),
    tests,
    mutants: [
      {
        before: "if (fault !== 'ok')",
        after: 'if (false)',
        tests: [at('storage/sqlite/store-copy.test.ts')],
      },
      { before: 'if (!isOfParley(', after: 'if (false && (' },
      { before: 'if (version > SCHEMA_VERSION)', after: 'if (false)' },
    ],
  },
  {
    file: at('storage/sqlite/log.ts'),
    tests: store,
    mutants: [
      { before: "    sql.run('DELETE FROM restored_runs WHERE conversation = ?', conversation)\n", after: '' },
      { before: 'if (isStored(sql, append, columns)) return', after: '' },
      { before: "seq = ? AND id = ?'", after: "seq = ? AND id IS NOT ?'" },
      { before: 'masked.version === secretsVersion(sql, masked.user)', after: 'true' },
    ],
  },
  {
    file: at('storage/sqlite/owning.ts'),
    tests: store,
    mutants: [
      { before: 'SET node = ?1, epoch = epoch + 1', after: 'SET node = ?1, epoch = epoch + 0' },
      { before: 'SET epoch = epoch + 1 WHERE id = ?', after: 'SET epoch = epoch + 0 WHERE id = ?' },
    ],
  },
  {
    file: at('conversation/live/roster.ts'),
    tests: servers,
    mutants: [{ before: 'if (restoredFrom !== null) await', after: 'if (false) await' }],
  },
]
