/** The directories on the way to what is shown, each of which opens. */
import { files as words } from '../../words/files.en.ts'
import { Name } from './name.tsx'
import { steps, type Place } from './path.ts'

export function Steps({ place, onOpen }: { place: Place; onOpen: (place: Place) => void }) {
  const all = [{ name: words.root, path: '' }, ...steps(place.path)]
  return (
    <nav aria-label={words.place} className="files-steps">
      <ol>
        {all.map(({ name, path }, index) => (
          <li key={path}>
            {index === all.length - 1 ? (
              <span aria-current="page">
                <Name text={name} />
              </span>
            ) : (
              <button type="button" onClick={() => onOpen({ path, isDirectory: true })}>
                <Name text={name} />
              </button>
            )}
          </li>
        ))}
      </ol>
    </nav>
  )
}
