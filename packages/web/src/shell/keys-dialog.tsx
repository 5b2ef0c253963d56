/** The keys of the present screen. */
import { Fragment } from 'react'
import { Dialog } from '../ui/dialog.tsx'
import { keyBindings, useKeysOff } from '../ui/keys.ts'
import { en } from '../words/en.ts'
import './keys-dialog.css'

export function KeysDialog({ onClose }: { onClose: () => void }) {
  const [isOff, setOff] = useKeysOff()
  return (
    <Dialog title={en.keys.title} onClose={onClose}>
      <dl className="keys">
        {keyBindings().map(({ keys, label }) => (
          <div key={keys}>
            <dt>{label}</dt>
            <dd>
              {keys.split(' ').map((key, index) => (
                <Fragment key={key}>
                  {index > 0 && <span> {en.keys.between} </span>}
                  <kbd>{key}</kbd>
                </Fragment>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <label className="keys-switch">
        <input type="checkbox" checked={!isOff} onChange={(event) => setOff(!event.target.checked)} />
        {en.keys.letters}
      </label>
      <p className="keys-note">{en.keys.note}</p>
    </Dialog>
  )
}
