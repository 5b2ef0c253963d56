/** Which files a person has viewed, kept by the browser. A file that changes is not viewed any more. */
import { useState } from 'react'
import type { FileChange } from './data.ts'

type Marks = Readonly<Record<string, string>>

export function useViewed(id: string): [isViewed: (file: FileChange) => boolean, toggle: (file: FileChange) => void] {
  const stored = `parley.viewed.${id}`
  const [marks, setMarks] = useState(() => read(stored))
  const isViewed = (file: FileChange): boolean => marks[file.path] === versionOf(file)
  const toggle = (file: FileChange): void => {
    const { [file.path]: _, ...rest } = marks
    const next = isViewed(file) ? rest : { ...rest, [file.path]: versionOf(file) }
    setMarks(next)
    try {
      localStorage.setItem(stored, JSON.stringify(next))
    } catch {
      // A browser may refuse to store; the marks then last as long as the panel.
    }
  }
  return [isViewed, toggle]
}

const versionOf = ({ status, additions, deletions, ref }: FileChange): string =>
  [status, additions, deletions, ref].join(' ')

function read(stored: string): Marks {
  try {
    const marks: unknown = JSON.parse(localStorage.getItem(stored) ?? '{}')
    return typeof marks === 'object' && marks !== null ? (marks as Marks) : {}
  } catch {
    return {}
  }
}
