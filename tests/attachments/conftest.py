from tests.support.documents import attachment_folder as attachment_folder
