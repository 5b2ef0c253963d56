/** The files below a directory, for tests that compare directories. */
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'

/**
 * Path to content of every file and symlink, `.git` left out. Names need not be text: they are read as Latin-1.
 * @param leftOut paths that are not compared
 */
export function fileTree(dir: string, leftOut: (path: string) => boolean = () => false): Record<string, string> {
  const found: Record<string, string> = {}
  const visit = (folder: Buffer, prefix: string) => {
    for (const name of readdirSync(folder, { encoding: 'buffer' })) {
      const path = prefix + name.toString('latin1')
      const full = Buffer.concat([folder, Buffer.from('/'), name])
      const stat = lstatSync(full)
      if (name.toString() === '.git' || leftOut(path)) continue
      if (stat.isDirectory()) visit(full, `${path}/`)
      else if (stat.isSymbolicLink()) found[path] = `-> ${readlinkSync(full)}`
      else if (stat.isFile()) found[path] = `${stat.mode & 0o100 ? 'x ' : ''}${readFileSync(full).toString('latin1')}`
    }
  }
  visit(Buffer.from(dir), '')
  return found
}
