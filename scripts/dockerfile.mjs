/** Reads a Dockerfile, and copies the files that its build gets. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join, matchesGlob } from 'node:path'

/** The instructions of a Dockerfile: name and rest, with continued lines joined. */
function instructionsIn(text) {
  const lines = text.replaceAll(/^#.*\n/gm, '').replaceAll(/\\\n\s*/g, ' ')
  return [...lines.matchAll(/^([A-Z]+) (.+)$/gm)].map(([, name, rest]) => ({ name, rest: rest.trim() }))
}

/** The stages of a Dockerfile, each with its name and its instructions. */
export function stagesIn(text) {
  /** @type {{ name: string, steps: { name: string, rest: string }[] }[]} */
  const stages = []
  for (const each of instructionsIn(text))
    if (each.name === 'FROM') stages.push({ name: / AS (\w+)$/.exec(each.rest)?.[1] ?? 'final', steps: [] })
    else stages.at(-1).steps.push(each)
  return stages
}

/** The values of ENV. */
export const variablesIn = (rest) =>
  Object.fromEntries([...rest.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]))

/** What the build gets: tracked and new files that .dockerignore does not name. */
export function copyContext(root, target) {
  const ignored = readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter(Boolean)
  const isIgnored = (file) =>
    ignored.some((pattern) => matchesGlob(file, pattern) || matchesGlob(file, `${pattern}/**`))
  for (const file of files.filter((each) => !isIgnored(each) && existsSync(join(root, each)))) {
    mkdirSync(dirname(join(target, file)), { recursive: true })
    copyFileSync(join(root, file), join(target, file))
  }
}
