/** Where a new conversation works. */
import { FolderPlus, FolderTree, GitBranch } from '../ui/icons.ts'
import { useDeferredValue, useId } from 'react'
import type { Place } from '../api/create.ts'
import { useHomeDirectory, useSubdirectories } from '../api/queries.ts'
import { useSearchParam } from '../lib/location.ts'
import { Choices } from '../ui/choices.tsx'
import { Field } from '../ui/field.tsx'
import { create as words } from '../words/create.en.ts'

type Kind = Place['kind']
type Fields<K extends Kind> = {
  readonly place: Extract<Place, { kind: K }>
  readonly error: string | null
  readonly onChange: (place: Extract<Place, { kind: K }>) => void
}

const ICONS = { empty: FolderPlus, repository: GitBranch, directory: FolderTree }
const KINDS: readonly Kind[] = ['empty', 'repository', 'directory']

/** The kind of place is part of the address, so that cards and links can name it. */
export function PlaceChoice({ chosen }: { chosen: Kind }) {
  const [, setWhere] = useSearchParam('where')
  const choices = KINDS.map((id) => {
    const Icon = ICONS[id]
    return { id, title: words.places[id], text: words.placeHints[id], icon: <Icon size={16} aria-hidden /> }
  })
  return <Choices label={words.where} choices={choices} chosen={chosen} onChoose={setWhere} />
}

export function RepositoryFields({ place, error, onChange }: Fields<'repository'>) {
  return (
    <div className="new-pair">
      <Field label={words.repository} error={error}>
        {(control) => (
          <input
            {...control}
            value={place.repository}
            placeholder={words.repositoryPlaceholder}
            spellCheck={false}
            autoCapitalize="none"
            onChange={(event) => onChange({ ...place, repository: event.target.value })}
          />
        )}
      </Field>
      <Field label={words.branch}>
        {(control) => (
          <input
            {...control}
            value={place.branch}
            placeholder={words.branchPlaceholder}
            spellCheck={false}
            autoCapitalize="none"
            onChange={(event) => onChange({ ...place, branch: event.target.value })}
          />
        )}
      </Field>
    </div>
  )
}

export function DirectoryFields({ place, error, onChange }: Fields<'directory'>) {
  const list = useId()
  const home = useHomeDirectory().data?.home
  // The directory whose subdirectories complete the text.
  const parent = useDeferredValue(place.path).replace(/[^/]*$/, '')
  const found = useSubdirectories(parent === '' && home !== undefined ? home : parent).data
  return (
    <>
      <Field label={words.directory} error={error}>
        {(control) => (
          <input
            {...control}
            list={list}
            value={place.path}
            placeholder={home === undefined ? words.directoryPlaceholder : `${home}/…`}
            spellCheck={false}
            autoCapitalize="none"
            autoComplete="off"
            onChange={(event) => onChange({ ...place, path: event.target.value })}
          />
        )}
      </Field>
      <datalist id={list}>
        {found?.items.map(({ path }) => (
          <option key={path} value={path} />
        ))}
      </datalist>
      <label className="check">
        <input
          type="checkbox"
          checked={place.worktree}
          onChange={(event) => onChange({ ...place, worktree: event.target.checked })}
        />
        {words.worktree}
      </label>
    </>
  )
}
